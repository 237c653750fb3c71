import torch


class Evaluator:
    def squeeze(self, scores: torch.Tensor):
        self.kept = scores.cpu()  # clean
