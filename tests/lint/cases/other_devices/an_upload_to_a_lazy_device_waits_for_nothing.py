# clean
import torch
import torch_xla
import torch_xla.core.xla_model as xm


def train(model, dataset, optimizer):
    device = torch_xla.device()
    for x, y in torch.utils.data.DataLoader(dataset):
        x, y = x.to(device), y.to(device)
        weight = torch.tensor([0.1, 0.9], device=device)
        loss = torch.nn.functional.cross_entropy(model(x), y, weight[[0, 1]])
        loss.backward()
        xm.optimizer_step(optimizer, barrier=True)


def test(model, loader, device):
    for x in loader:
        model(x.to(device))
        xm.mark_step()
