"""Train with clipped gradients and stop if the loss is not finite: asked in every step."""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(60, 64, 128).to("cuda")
model = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())

for step, x in enumerate(data):
    loss = nn.functional.mse_loss(model(x), x)
    if not torch.isfinite(loss):
        raise SystemExit(f"the loss is not finite in step {step}")
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm > 10:
        print(f"step {step}: gradient norm {norm:.1f}")
    optimizer.step()
print(f"last loss {loss.item():.5f}")
