import torch


class Other:
    def compute(self, batch):
        print(torch.nn.functional.mse_loss(*batch).item())  # clean
