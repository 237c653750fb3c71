import torch


def validate(model, loader, loss_fn, num_microbatches, device):
    batches = iter(loader)
    while True:
        tokens = torch.tensor(0, device=device)  # ASG106
        for _ in range(num_microbatches):
            x, y = next(batches)
            loss = loss_fn(model(x.to(device)), y.to(device))  # ASG106, ASG106
        total.add_(loss + tokens)


def train(model, loader, loss_fn, rounds, device):
    for _ in range(rounds):
        batches = iter(loader)
        start = torch.tensor(0, device=device)  # clean
        for x, y in batches:
            loss = loss_fn(model(x.to(device)), start)  # ASG106
            loss.backward()
