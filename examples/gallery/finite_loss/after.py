"""Train with clipped gradients and stop if the loss is not finite: asked every 20 steps."""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(60, 64, 128).to("cuda")
model = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())

infinite = torch.zeros((), device="cuda", dtype=torch.bool)
highest = torch.zeros((), device="cuda")
for step, x in enumerate(data):
    loss = nn.functional.mse_loss(model(x), x)
    infinite |= ~torch.isfinite(loss)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    highest = torch.maximum(highest, norm)
    optimizer.step()
    if step % 20 == 19:
        if infinite:
            raise SystemExit(f"the loss is not finite in one of the 20 steps before {step + 1}")
        if highest > 10:
            print(f"up to step {step}: gradient norm {highest:.1f}")
print(f"last loss {loss.item():.5f}")
