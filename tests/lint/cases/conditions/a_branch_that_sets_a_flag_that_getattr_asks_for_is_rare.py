import torch


def is_causal(mask: torch.Tensor):
    return mask.all().item()  # clean


def is_full(mask: torch.Tensor):
    return mask.all().item()  # ASG102


class Trainer:
    def training_step(self, batch):
        mask = self.net(batch)
        if not getattr(self, "_checked", False):
            if not is_causal(mask):
                raise ValueError
            self._checked = True
        if not getattr(self, "_quiet", False):
            self.full = is_full(mask)
