import torch


def run(model, loader, kept):
    for image in loader:
        output = model(image)
        copied = torch.tensor(output, device="cpu")
        kept.add(copied.sum().item(), 1)
        same = torch.as_tensor(output)
        kept.add(same.sum().item(), 2)  # ASG102
