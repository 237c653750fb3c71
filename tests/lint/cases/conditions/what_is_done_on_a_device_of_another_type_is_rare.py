import torch
from transformers.utils import is_sagemaker_mp_enabled, is_torch_xla_available


def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        n = loss.argmax()
        if device.type == "mps":
            print(int(n))  # clean
        if device.type != "xla":
            print(loss)  # ASG101
        if device.type == "cuda":
            print(loss)  # ASG101
        if is_sagemaker_mp_enabled():
            print(loss)  # ASG101
        if not is_torch_xla_available():
            print(loss)  # ASG101
