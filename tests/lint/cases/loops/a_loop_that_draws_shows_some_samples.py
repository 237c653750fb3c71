"""A loop that draws a figure in each round shows some samples; one that trains or
names steps is a loop of steps."""

import matplotlib.pyplot as plt
import torch


def look(model, samples):
    fig = plt.figure()
    for index in range(3):
        x = samples[index]["x"].cuda()  # clean
        out = model(x.unsqueeze(0))
        axes = fig.add_subplot(3, 1, index + 1)
        axes.imshow(out.cpu())  # clean


def look_at_few(model, samples, show):
    for index in range(30):
        out = model(samples[index]["x"].unsqueeze(0))
        if show:
            figure, axes = plt.subplots()
            axes.imshow(out[0])
        print(out.mean().item())  # ASG102


def train(model, loader, optimizer):
    for x, y in loader:
        loss = (model(x) - y).sum()
        loss.backward()
        optimizer.step()
        plt.scatter(0, loss.item())  # ASG102
        plt.savefig("loss.png")


def roll_out(model, data, n_steps):
    for step in range(n_steps):
        out = model(data[step].unsqueeze(0))
        print(out.mean().item())  # ASG102
        plt.savefig(f"{step}.png")
