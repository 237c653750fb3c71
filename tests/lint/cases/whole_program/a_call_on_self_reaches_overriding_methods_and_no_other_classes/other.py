import torch


class Report:
    def sum_up(self, out: torch.Tensor, target: torch.Tensor):
        return out.sum().item()  # clean
