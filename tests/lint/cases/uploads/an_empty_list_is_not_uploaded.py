import torch


class Head(torch.nn.Module):
    def forward(self, ids, sizes):
        none = torch.tensor([], device=ids.device)  # clean
        some = torch.tensor([0], device=ids.device)  # ASG106
        given = torch.tensor(sizes, device=ids.device)  # ASG106
        return torch.cat([none, some, given, ids])
