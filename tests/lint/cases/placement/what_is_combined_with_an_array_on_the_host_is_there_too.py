import torch


class Mixed(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        part = torch.rand(4)
        share = torch.sqrt(1 - self.share)
        box = torch.randint(0, 8, (1,)) - (share * 8).int()
        return box.item(), part  # clean


class There(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        share = torch.sqrt(1 - self.share)
        return (images - share).sum().item()  # ASG102
