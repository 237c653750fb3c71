import torch
import torch.nn.functional as F


def batches(device, number=6):
    torch.manual_seed(0)
    return [
        (torch.randn(5 + n % 2, 4, device=device), torch.randint(0, 3, (5 + n % 2,), device=device))
        for n in range(number)
    ]


def parts(device):
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 3).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


class Trainer:
    def __init__(self, device):
        self.total = 7.0
        self.device = device
        torch.manual_seed(1)

    def fit(self, model, optimizer, loader):
        self.total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.total += loss.item()
        return self.total


def fewer_attribute_of_self(device):
    trainer = Trainer(device)
    model, optimizer = parts(device)
    return trainer.fit(model, optimizer, batches(device)), type(trainer.total).__name__
