import torch


class Sampler:
    def __init__(self, k):
        self.k = k

    @classmethod
    def make(cls, k):
        return cls(k)

    @staticmethod
    def greedy(logits):
        return logits.argmax(-1)

    @staticmethod
    def on_host(logits):
        return torch.empty((2, 1), dtype=torch.long)

    def pick(self, logits):
        return logits.topk(self.k)[0].item()  # ASG102
