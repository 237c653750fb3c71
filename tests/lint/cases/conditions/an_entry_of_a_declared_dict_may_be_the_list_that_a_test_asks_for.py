import torch


def sizes(feats):
    h, w = feats[0].shape[2:] if isinstance(feats, list) else (int(feats[0]), int(feats[1]))  # clean
    return h * w


def heights(feats):
    if isinstance(feats, (list, tuple)):
        return feats[0].shape[2]
    return int(feats[0])  # clean


def first(feats):
    return int(feats[0])  # ASG102


def widths(feats):
    if isinstance(feats, list):
        return feats[0].shape[3]
    return int(feats[0])  # ASG102


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x)
        preds: dict[str, torch.Tensor] = model.outputs()
        note(sizes(preds["feats"]), heights(preds["feats"]), first(preds["feats"]), widths(loss))
        loss.backward()
        optimizer.step()
