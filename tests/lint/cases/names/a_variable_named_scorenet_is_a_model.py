import torch


def sample(x, scorenet, count):
    with torch.no_grad():
        for _ in range(count):
            grad = scorenet(x, 3)
            x = x + grad
            print("mean {}".format(grad.abs().mean()))  # ASG101
