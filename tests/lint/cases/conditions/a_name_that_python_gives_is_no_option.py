import torch


def renamed(function):
    function.__name__ = "renamed"  # the only word that is given to such a name
    return function


def main(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()  # ASG102
    return total


if __name__ == "__main__":
    main(None, [], None)
