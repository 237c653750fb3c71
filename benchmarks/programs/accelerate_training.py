"""accelerate's own test model and data set, trained with its Accelerator."""

import torch
from accelerate import Accelerator
from accelerate.test_utils.training import RegressionDataset, RegressionModel
from accelerate.utils import set_seed
from digest import digest

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = RegressionModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(
    RegressionDataset(length=32, seed=1), batch_size=4, shuffle=True
)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _ in range(3):
    for batch in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(batch["x"]), batch["y"])
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(accelerator.gather(loss).item())
print(digest(p.detach().numpy() for p in model.parameters()))
