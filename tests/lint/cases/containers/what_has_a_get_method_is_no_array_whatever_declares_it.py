import numpy as np
import torch


def outputs(out: dict[str, torch.Tensor], plan: dict[str, np.ndarray], ids):
    chosen = plan.get("chosen", {})
    rows = plan["rows"]
    masks = []
    for i in ids:
        number = chosen.get(i)
        if number is not None:
            masks.append(out["mask"][number])  # clean
    return masks, out["mask"][rows]  # ASG106


def train(model, loader, optimizer, ids):
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        outputs({"mask": loss}, {}, ids)
