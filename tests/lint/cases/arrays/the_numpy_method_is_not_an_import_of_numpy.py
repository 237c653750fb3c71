import torch


class Decoder(torch.nn.Module):
    def forward(self, padded):
        rows = [y[y != 3] for y in self.rows]  # ASG105
        return rows[0].cpu().numpy()  # ASG103
