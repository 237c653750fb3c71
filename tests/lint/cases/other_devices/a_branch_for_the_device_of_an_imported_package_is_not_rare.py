import torch
import torch_npu


def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if device.type == "npu":
            torch_npu.npu.synchronize()  # ASG202
        if device.type == "hpu":
            torch.hpu.synchronize()
