# settings: min_probability=0.37
import torch


class Meter:
    def update(self, value, count=1):
        self.sum += float(value) * count  # ASG102
        self.count += count


class PlainMeter:
    def update(self, value):
        self.sum += float(value)  # clean


class PairMeter:
    def update(self, pair):
        _, seconds = pair
        self.sum += float(seconds)  # clean


def train(model, loader, optimizer):
    meter, plain, pairs = Meter(), PlainMeter(), PairMeter()
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss, 8)
        plain.update(len(batch))
        pairs.update((loss, len(batch)))
