# settings: min_probability=0.1
import torch

to = lambda x, *args, **kwargs: x.to(*args, **kwargs)


def gpu(i):
    return torch.device(f"cuda:{i}")


class Trainer:
    def __init__(self, count: int):
        self.places = [gpu(i) for i in range(count)]
        self.types = [torch.float16 for i in range(count)]

    def prepare_batch(self, batch):
        return [to(part, self.places[0]) for part in batch]  # ASG106

    def narrow(self, batch):
        return [to(part, self.types[0]) for part in batch]  # clean

    def fit(self, model: torch.nn.Module, loader, optimizer):
        for batch in loader:
            x, y = self.narrow(self.prepare_batch(batch))
            loss = (model(x) - y).square().mean()
            loss.backward()
            optimizer.step()
