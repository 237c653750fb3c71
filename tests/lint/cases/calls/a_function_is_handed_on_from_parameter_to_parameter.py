from functools import partial

import torch


def preview(x, scale):
    return (x * scale).cpu().numpy()  # ASG103


def summary(x):
    return x.mean().item()  # clean


class StopOn:
    def __init__(self, sequence):
        self.sequence = sequence

    def __call__(self, ids: torch.Tensor):
        return bool((ids[-1] == 3).all())  # ASG104


class Pipeline:
    def __init__(self, unet):
        self.unet = unet

    def denoise(self, x, steps, callback):
        for step in range(steps):
            x = self.unet(x, step)
            if callback is not None:
                callback(x)
        return x

    def run(self, x, callback=None, after=None):
        x = self.denoise(x, 50, callback)
        return after(x)


def stopped(ids, tests):
    return any(test(ids) for test in tests)


def generate(model: torch.nn.Module, ids, tests):
    for _ in range(100):
        ids = torch.cat([ids, model(ids)])
        if stopped(ids, tests):
            break
    return ids


def main(unet: torch.nn.Module, x):
    pipeline = Pipeline(unet)
    pipeline.run(x, callback=partial(preview, scale=2.0), after=summary)
    generate(unet, x, (StopOn("a"), StopOn("b")))
