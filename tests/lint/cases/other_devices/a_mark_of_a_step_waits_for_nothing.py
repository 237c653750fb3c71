# clean
import habana_frameworks.torch.core as htcore
import torch
import torch_xla
import torch_xla.core.xla_model as xm


def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        xm.mark_step()
        torch_xla.sync()
        htcore.mark_step()
