"""Train a masked language model: the loss ignores the others, and no shape depends on data."""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 500
torch.manual_seed(0)
tokens = torch.randint(1, VOCABULARY, (40, 8, 64)).to("cuda")
hidden = (torch.rand(40, 8, 64) < 0.15).to("cuda")
layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(VOCABULARY, 64), layer, nn.Linear(64, VOCABULARY)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for batch, mask in zip(tokens, hidden, strict=True):
    logits = model(batch.masked_fill(mask, 0))
    wanted = batch.masked_fill(~mask, -100)  # what cross_entropy ignores
    loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"last loss {loss.item():.4f}")
