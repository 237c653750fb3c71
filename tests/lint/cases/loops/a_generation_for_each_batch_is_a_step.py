import torch


def prepare(prompt):
    return torch.tensor(prompt).cuda()  # ASG106


def sample(model, x, times):
    for t in times:
        x = model(x, t)
    return x


def answer(model, prompt):
    x = prepare(prompt)
    y = sample(model, x, range(10))
    return y.cpu()  # ASG103


def main(model, loader):
    for prompt in loader:
        print(answer(model, prompt))


def once(model, prompt):
    return answer(model, prompt)
