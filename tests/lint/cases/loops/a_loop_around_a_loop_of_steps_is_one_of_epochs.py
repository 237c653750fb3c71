import torch


def run(runner, phases, loss: torch.Tensor):
    for phase in phases:
        for x in phase:
            runner.train_step(x)
        print(loss.item())  # clean
