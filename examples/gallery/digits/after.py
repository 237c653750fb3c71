"""Train a classifier of digits, and show how it did: loss and accuracy are read after the loop."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
images = torch.randn(50, 64, 784).to("cuda")
labels = images[:, :, :10].argmax(-1)
model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

total = torch.zeros((), device="cuda", dtype=torch.float64)
right = torch.zeros((), device="cuda", dtype=torch.int64)
for x, y in zip(images, labels, strict=True):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
    right += (logits.argmax(1) == y).sum()
print(f"loss {total.item() / len(images):.5f}, accuracy {right.item() / labels.numel():.5f}")
