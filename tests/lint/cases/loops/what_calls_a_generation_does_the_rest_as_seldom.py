import torch


def prepare(prompt):
    return torch.tensor(prompt).cuda()  # clean


def sample(model, x, times):
    for t in times:
        x = model(x, t)
        print(x.norm())  # ASG101
    return x


def answer(model, prompt):
    x = prepare(prompt)
    y = sample(model, x, range(10))
    return y.cpu()  # clean


def main(model, loader):
    for prompt in ("a", "b"):
        print(answer(model, prompt))


def in_parts(model, x):
    found = []
    for part in x.split(8):
        found.append(model(part))
    return torch.cat(found).cpu()  # ASG103


def evaluate(model, loader):
    for x in loader:
        print(in_parts(model, x.cuda(non_blocking=True)))
