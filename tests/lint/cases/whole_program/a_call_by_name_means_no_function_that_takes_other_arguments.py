import torch


class Averages:
    def fold_weights(self, mine, other, count: torch.Tensor):
        print(count)  # clean


class Shadows:
    def fold_weights(self, other: torch.Tensor):
        print(other)  # ASG101


def fit(model, loader, optimizer, shadows):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        shadows.fold_weights(model.weight)
