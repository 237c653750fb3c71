import torch
import torch_xla


def train(model, dataset, optimizer, use_tpu):
    device = torch.device("cuda")
    other = torch_xla.device()
    for x, y in torch.utils.data.DataLoader(dataset):
        loss = model(x.to(other), y.to(device))  # ASG106
        loss.backward()
        optimizer.step()
