import torch


class PairLoss:
    def calc(self, scores, positives):
        wanted = torch.tensor(positives).to(scores.device)  # ASG106
        return torch.nn.functional.nll_loss(scores, wanted)
