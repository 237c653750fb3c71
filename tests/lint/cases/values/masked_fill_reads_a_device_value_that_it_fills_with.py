import torch


class Masker:
    def before_batch(self):
        self.hidden = self.rows[0].masked_fill(self.mask, self.fill)  # clean


class Masker2:
    def before_batch(self):
        self.hidden = self.rows[0].masked_fill(self.mask, torch.max(self.cost.grad))  # ASG102
