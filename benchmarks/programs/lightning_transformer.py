"""lightning's demo Transformer language model, in a plain loop with a learning-rate schedule."""

import torch
from digest import digest
from lightning.pytorch.demos import Transformer

torch.manual_seed(0)
model = Transformer(vocab_size=50, ninp=16, nhead=2, nhid=16, nlayers=2, dropout=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for _ in range(5):
    ids = torch.randint(0, 50, (4, 10))
    loss = torch.nn.functional.nll_loss(model(ids, ids), ids.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    plateau.step(loss)
    print(f"{loss:.12f} {optimizer.param_groups[0]['lr']}")
print(digest(p.detach().numpy() for p in model.parameters()))
