"""A small torch training loop that reads its loss once an epoch."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
features = torch.randn(1024, 32, device=device)
labels = features @ torch.randn(32, 1, device=device)
dataset = torch.utils.data.TensorDataset(features, labels)
loader = torch.utils.data.DataLoader(dataset, batch_size=64)

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    total = torch.zeros((), device=device)
    for X, y in loader:
        optimizer.zero_grad()
        loss = loss_function(model(X), y)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch + 1}: loss {total.item() / len(loader):.4f}")
