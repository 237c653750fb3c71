import torch


class Matching(Template):
    def set_forward_loss(self, x):
        return self.loss(self.features(x), torch.arange(9).cuda())  # ASG106

    def set_loss(self, x):
        self.loss = self.features(x).item()  # clean
