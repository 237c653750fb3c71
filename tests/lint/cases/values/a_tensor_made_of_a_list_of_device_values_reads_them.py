import torch


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        torch.tensor([loss, loss / 2])  # ASG102
        torch.Tensor([part for part in model(x)])  # ASG102
        torch.FloatTensor([loss, 1.0])  # ASG102
        torch.tensor(loss)  # clean
        torch.Tensor([1.0, 2.0])  # clean
        torch.FloatTensor(3)  # clean
        torch.stack([loss, loss / 2])  # clean
