import torch
from torch.utils._pytree import tree_map


def fetched(tree):
    if isinstance(tree, torch.Tensor):
        return tree.detach().cpu()  # ASG103
    if isinstance(tree, dict):
        return {key: fetched(part) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [fetched(part) for part in tree]
    return tree


def sent(tree, device):
    if torch.is_tensor(tree):
        return tree.to(device, non_blocking=True)
    if isinstance(tree, list):
        return [sent(part, device) for part in tree]
    return {key: sent(part, device) for key, part in tree.items()}


class Log:
    def add(self, metrics):
        self.last = metrics["loss"].item()  # clean
        self.scores = metrics["scores"].tolist()  # clean


class Watch:
    def see(self, metrics):
        self.last = metrics["loss"].item()  # ASG102


def train(model, loader, optimizer, log, watch):
    model.cuda()
    log, watch = Log(), Watch()
    for batch in loader:
        batch = sent(batch, "cuda")
        print(batch["x"].mean())  # ASG101
        scores = model(batch["x"])
        loss = scores.sum()
        loss.backward()
        optimizer.step()
        log.add(fetched({"loss": loss, "scores": scores}))
        watch.see({"loss": loss, "scores": scores})
        halves = tree_map(lambda part: part.cpu(), {"loss": loss})  # ASG103
        print(halves["loss"].item())  # clean
