import torch


class ScoreMetric:
    def __init__(self):
        self.kept = []

    def update(self, y_pred: torch.Tensor, y_true: torch.Tensor) -> None:
        self._update(y_pred, y_true)

    def _update(self, y_pred: torch.Tensor, y_true: torch.Tensor) -> None:
        y_pred = y_pred.cpu().numpy()  # ASG103
        self.kept.append(y_pred)
