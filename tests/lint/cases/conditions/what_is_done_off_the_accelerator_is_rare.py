import torch


def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        if loss.device.type in ["cuda", "npu"]:
            print(loss)  # ASG101
        else:
            print(loss)  # clean
        if device.type == "cuda":
            print(loss)  # ASG101
        else:
            print(loss)  # clean
        if loss.device.type not in {"cpu", "mps"}:
            print(loss)  # ASG101
        if not loss.is_cuda:
            print(loss)  # clean
        if model.kind == "cuda":
            print(loss)  # ASG101
        else:
            print(loss)  # ASG101


def predict(model, loader):
    for x in loader:
        if x.device.type != "cuda":
            x = x.to("cuda")  # ASG106
        yield model(x)
