import torch


def losses(logits, labels, offsets):
    found = []
    for i in range(offsets.shape[0] - 1):
        document = slice(offsets[i], offsets[i + 1])
        part = labels[document]  # ASG105
        found.append(torch.nn.functional.cross_entropy(logits[:8], part))
    return torch.stack(found).mean()


def train(model, loader, optimizer):
    for batch in loader:
        ids, labels, offsets = (t.to("cuda", non_blocking=True) for t in batch)
        loss = losses(model(ids), labels, offsets)
        loss.backward()
        optimizer.step()
        window = slice(0, 8)
        logged = ids[window]  # clean
