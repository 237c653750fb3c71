import torch
from somewhere import Callback
from transformers import StoppingCriteria


class EndOfText(StoppingCriteria):
    def __call__(self, ids: torch.LongTensor, scores):
        return bool((ids[:, -1] == self.token).all())  # ASG104


class EndOfEpoch(Callback):
    def __call__(self, ids: torch.LongTensor, scores):
        return bool((ids[:, -1] == self.token).all())  # clean
