# path: tools/exporter.py
import torch


class Exporter:
    def __call__(self, model: torch.nn.Module, loader):
        for x in loader:
            print(model(x).sum().item())  # clean
