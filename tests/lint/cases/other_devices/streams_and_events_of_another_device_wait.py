import torch
import torch_musa
import torch_npu


def train(model, loader, optimizer):
    done = torch_npu.npu.Event()
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        done.record()
        done.query()
        done.synchronize()  # ASG201
        torch.npu.current_stream().synchronize()  # ASG201
        torch_musa.current_stream().wait_stream(torch_musa.default_stream())
        torch.mlu.default_stream().synchronize()  # ASG201
