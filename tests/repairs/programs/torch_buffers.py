import torch
import torch.nn.functional as F
from torch import nn


def batches(device, number=4):
    torch.manual_seed(0)
    return [
        (torch.randn(5 + n % 2, 4, device=device), torch.randint(0, 3, (5 + n % 2,), device=device))
        for n in range(number)
    ]


def trained(net, device):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches(device):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return sorted(net.state_dict()), [p.detach().tolist() for p in net.parameters()]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        mean = torch.tensor([0.4, 0.5, 0.6, -0.7]).to(x.device)
        spread = torch.tensor([[1.0, 2.0, 3.0, 4.0]], device=x.device)  # of each column
        return self.linear((x - mean) / spread)


def once_constants_of_forward(device):
    return trained(Scaled().to(device), device)


class Shared(nn.Module):
    def __init__(self, width=4):
        super(Shared, self).__init__()
        torch.manual_seed(1)
        self.width = width
        self.linear = nn.Linear(width, 3)
        self.weight = 2

    def forward(self, x):
        weight = torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)
        for _ in range(2):
            x = self.shifted(x * weight)
        return self.linear(x) * self.weight

    def shifted(self, x):
        weight = torch.tensor((1, 2, 3, 4), dtype=torch.int32).to(device=x.device)
        x += weight[None, :].float()
        return x


def once_constants_under_one_name(device):
    return trained(Shared().to(device), device)


class Views(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(2, 3, 1)

    def forward(self, x):
        images = x.reshape(-1, 2, 2, 1)
        mean = torch.tensor([0.5, 0.25], device=x.device).view(1, 2, 1, 1)
        out = self.conv(images - mean).mean((2, 3))
        return F.log_softmax(out, 1) * torch.tensor([1.0, 0.5, 0.25], device=x.device).unsqueeze(0)


def once_views_of_constants(device):
    return trained(Views().to(device), device)


class Loss(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, logits, y):
        weight = torch.tensor([1.0, 2.0, 3.0], device=logits.device)
        if self.kind == "plain":
            return F.cross_entropy(logits, y)
        return F.cross_entropy(logits, y, weight=weight)


def once_constants_of_a_module_without_layers(device):
    torch.manual_seed(1)
    net, loss_of = nn.Linear(4, 3).to(device), Loss("weighted").to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches(device):
        loss = loss_of(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [p.detach().tolist() for p in net.parameters()], sorted(loss_of.state_dict())


def once_constants_of_a_loop(device):
    torch.manual_seed(1)
    model = nn.Linear(4, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in batches(device):
            weight = torch.tensor([1.0, 2.0, 3.0], device=device)
            x = x * torch.tensor([0.5, 1, 2, -1]).to(device)
            loss = F.cross_entropy(model(x), y, weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.weight.detach().tolist()


def once_constants_of_a_loop_without_a_round(device):
    torch.manual_seed(1)
    model, seen = nn.Linear(4, 3).to(device), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in (0, 3):
        for x, y in batches(device, number):
            if len(x) < 9:
                shift = torch.tensor([0.5, 1, 2], device=device)
            loss = F.cross_entropy(model(x) + shift, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append((model(x) - shift).sum())
    return [round(value.item(), 5) for value in seen]
