import torch


def run(env, agent, optimizer, model, train_every):
    for t in range(9000):
        env.step(0)
        if t % train_every == 0:
            loss = model(t)
            loss.backward()
            optimizer.step()
            print(loss)  # ASG101
        if t % 100 == 0:
            print(model(t))  # clean
