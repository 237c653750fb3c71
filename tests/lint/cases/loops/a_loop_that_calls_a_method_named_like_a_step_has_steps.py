import torch


def run(runner, xs, loss: torch.Tensor):
    for x in xs:
        runner.train_step(x)
        print(loss.item())  # ASG102


def run_2(runner, xs, loss: torch.Tensor):
    for x in xs:
        runner.describe(x)
        print(loss.item())  # clean


def run_4(runner, xs, loss: torch.Tensor):
    for x in xs:
        runner.select_action(x)
        print(loss.item())  # ASG102
