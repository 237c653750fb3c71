# After openpi and boltz: what a region hands decides two calls further what runs there.
import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sample = torch.compile(self.sample, mode="max-autotune")

    def sample(self, x):
        return self._prepare(x, train=False).sum()

    def trace(self, x):
        return self._check(x, strict=True).sum()

    def _prepare(self, x, *, train=True):
        return prepare(x, train=train)

    def _check(self, x, strict):
        return check(x, strict)


def prepare(x, *, train=False):
    if train:
        angle = torch.rand(1, device=x.device)
        if torch.abs(angle) > 0.1:  # clean
            x = x * angle
    return x


def check(x, strict):
    if strict:
        norm = torch.rand(1, device=x.device)
        if norm > 0.1:  # ASG502
            x = x * norm
    return x


@torch.compile
def checked(x):
    return Policy().trace(x)


@torch.compile
def score(x, y: torch.Tensor, counts: torch.Tensor):
    return frames(x, y, 4) + frames_by(x, y, counts)


def frames(x, y, multiplicity=1):
    return frames_of(x, y, multiplicity)


def frames_of(x, y, multiplicity):
    return y.clone().repeat_interleave(multiplicity, 0)  # clean


def frames_by(x, y, counts):
    return frames_of_each(x, y, counts)


def frames_of_each(x, y, counts):
    return y.clone().repeat_interleave(counts, 0)  # ASG502


@torch.compile
def either(x):
    return sometimes(x, True) + sometimes(x, False)


def sometimes(x, flag):
    return seldom(x, flag)


def seldom(x, flag):
    if flag:
        norm = torch.rand(1, device=x.device)
        if norm > 0.1:  # ASG502
            x = x * norm
    return x


def packed(w):  # after hqq
    meta = {"shape": w.shape, "scale": w.abs().max(), "view_dtype": torch.uint8}
    return w, meta


@torch.compile
def quantized(x: torch.Tensor, w: torch.Tensor):
    w, meta = packed(w)
    return x @ dequantized(w, meta)


def dequantized(w, meta):
    w = w.view(meta["view_dtype"])  # clean
    return (w * meta["scale"]).reshape(meta["shape"])  # clean


class Divergence(torch.nn.Module):  # after tritonbench
    def forward(self, q: torch.Tensor, p: torch.Tensor, label=None):
        loss = q - p
        if label is not None:
            loss = loss / (label != 3).sum().item()  # clean
        return loss


class Measured:
    def __init__(self):
        self.op = Divergence()

    def run(self, q, p):
        compiled = torch.compile(self.op)
        return compiled(q, p)


@torch.compile
def labelled(q: torch.Tensor, label=None):
    if label is not None:
        return q / (label != 3).sum().item()  # ASG502
    return q


def measured(q, label):
    return labelled(q, label)
