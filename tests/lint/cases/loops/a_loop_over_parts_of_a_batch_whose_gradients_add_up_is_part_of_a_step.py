import torch


class Mixed:
    def backward(self, loss):
        loss.backward()

    def optimize(self, optimizer: torch.optim.Optimizer):
        optimizer.step()


def main(model, data, args):
    mixed, optimizer = Mixed(), torch.optim.AdamW(model.parameters())

    def gradients(data):
        batch = next(data).to(args.device)  # ASG106
        for part in split(args.size, batch):
            mixed.backward(model(part).mean())

    for step in range(args.iterations):
        gradients(data)
        mixed.optimize(optimizer)
