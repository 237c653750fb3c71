import torch


class Model(torch.nn.Module):
    def characters(self, ids: torch.Tensor, lengths: torch.Tensor, batch_size):
        for batch_id in range(batch_size):
            row = torch.cumsum(ids[batch_id], 0)
            print(row.sum().item())  # clean

    def windows(self, ids: torch.Tensor, num_batches):
        for batch_id in range(num_batches):
            row = torch.cumsum(ids[batch_id], 0)
            print(row.sum().item())  # ASG102
