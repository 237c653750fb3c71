# clean
# settings: select=ASG106,ASG108
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def pin_available():
    return torch.cuda.is_available()


def of_parameters(model, loader, optimizer, device):
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.cuda(non_blocking=True)
        model(x, y).backward()
        optimizer.step()


def of_a_loader(model, images, optimizer, pin):
    for (x,) in DataLoader(TensorDataset(images), pin_memory=True):
        model(x.to("cuda", non_blocking=True)).sum().backward()
        optimizer.step()
    for (x,) in DataLoader(TensorDataset(images), pin_memory=pin):
        model(x.to("cuda", non_blocking=True)).sum().backward()
        optimizer.step()


class Staged:
    def __init__(self, options):
        self.tokens = torch.zeros(1 << 20, dtype=torch.long, pin_memory=True)
        self.view = self.tokens.numpy()
        self.maybe = torch.zeros(1 << 20, pin_memory=pin_available())
        self.told = torch.zeros(1 << 20, **options)
        self.gpu = torch.zeros(1 << 20, dtype=torch.long, device="cuda")

    def run(self, model, steps, n):
        for _ in range(steps):
            self.gpu[:n].copy_(self.tokens[:n], non_blocking=True)
            self.gpu.copy_(torch.from_numpy(self.view), non_blocking=True)
            a = self.maybe.to("cuda", non_blocking=True)
            b = self.told.to("cuda", non_blocking=True)
            model(self.gpu, a, b, self.tokens.view(64, -1)[3, :100].cuda(non_blocking=True))


def small(model, steps):
    for step in range(steps):
        zero = torch.tensor(0.0).to("cuda", non_blocking=True)  # staged by the driver, no wait
        few = torch.tensor([1, 2, step]).to("cuda", non_blocking=True)
        some = torch.zeros(16, 16).cuda(non_blocking=True)
        model(zero, few, some)


def made_pinned(model, arrays):
    for array in arrays:
        x = torch.from_numpy(np.stack(array)).pin_memory().to("cuda", non_blocking=True)
        y = torch.stack([torch.from_numpy(a) for a in array]).contiguous().pin_memory()
        z = torch.empty(1 << 20, pin_memory=True).t()
        model(x, y.cuda(non_blocking=True), z.to("cuda", non_blocking=True))


def on_the_device(model, x, steps):
    x = x.cuda()
    for _ in range(steps):
        y = model(x).to("cuda:1", non_blocking=True)
        x.copy_(y, non_blocking=True)
        model(x.float().to("cpu", non_blocking=True))  # torch pins what it makes


def either(model, data, fast, steps):
    x = torch.zeros(1 << 20)
    if fast:
        x = x.pin_memory()
    for flag in data:
        model(x.to("cuda", non_blocking=True), torch.zeros(1 << 20).cuda(non_blocking=flag is x))


def vectors(model, x, limit, steps):
    """One number for each row, class or request: they are not 16,384."""
    for _ in range(steps):
        ones = torch.ones(x.shape[0]).cuda(non_blocking=True) / x.shape[0]
        ends = torch.full((limit,), len(x))
        ends[0] = 0
        ends = ends.to(torch.int32).to("cuda", non_blocking=True)
        sizes = torch.tensor([x.size(1)] * x.size(0), dtype=torch.int32)
        x = model(x.cuda(non_blocking=True), ones, ends, sizes.to(device=x.device, non_blocking=True))


class Swapped:
    def step(self, loss, param):
        loss.backward()
        cpu_state = self.states[param]
        mean = cpu_state.get("mean", None).to("cuda", non_blocking=True)
        most = cpu_state.pop("most").to("cuda", non_blocking=True)
        return mean + most


def of_a_dictionary(model, loader, optimizer):
    for x, meta in loader:
        for key, value in meta.items():
            meta[key] = value.cuda(non_blocking=True)
        model(x.cuda(non_blocking=True), meta).sum().backward()
        optimizer.step()
