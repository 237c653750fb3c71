"""Train a classifier of digits, and show how it did: loss and accuracy are read in every step."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
images = torch.randn(50, 64, 784).to("cuda")
labels = images[:, :, :10].argmax(-1)
model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

total, right = 0.0, 0
for x, y in zip(images, labels, strict=True):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    right += (logits.argmax(1) == y).sum().item()
print(f"loss {total / len(images):.5f}, accuracy {right / labels.numel():.5f}")
