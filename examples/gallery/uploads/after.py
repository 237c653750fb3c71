"""Train on batches that a loader brings: pinned memory is copied while Python goes on."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(1600, 1024)
data = TensorDataset(features, features[:, :1].sin())
loader = DataLoader(data, batch_size=32, pin_memory=True)
model = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 1)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())

for x, y in loader:
    x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"last loss {loss.item():.5f}")
