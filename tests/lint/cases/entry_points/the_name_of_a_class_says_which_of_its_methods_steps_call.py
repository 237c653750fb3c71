import torch


class RPNLossComputation:
    def __call__(self, scores):
        return torch.nonzero(scores > 0)  # ASG105


class BeamSearchLM:
    def advance(self, scores):
        return torch.nonzero(scores > 0)  # ASG105


class DecodeStrategy:
    def update_finished(self, scores):
        return torch.nonzero(scores > 0)  # ASG105


class ComputeLossOTA:
    def __call__(self, scores):
        return torch.nonzero(scores > 0)  # ASG105


class CRFDecode:
    def decode(self, scores):
        return torch.nonzero(scores > 0)  # ASG105


class Plan:
    def advance(self, scores):
        return torch.nonzero(scores > 0)  # clean


class Plan2:
    def __call__(self, scores):
        return torch.nonzero(scores > 0)  # clean
