import torch


class Net(torch.nn.Module):
    def forward(self, x, pred_mask):
        return self.predict(x, pred_mask)  # clean

    def predict(self, x, pred_mask):
        return x[pred_mask.unsqueeze(-1).expand_as(x)]  # ASG105
