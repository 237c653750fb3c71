import torch


def overlap(one, other):
    return torch.max(one, other).prod(1) * one


class Net(torch.nn.Module):
    def forward(self, boxes):
        if overlap(boxes.cpu(), self.anchors()).sum() == 0:  # ASG103
            return boxes


class Net2(torch.nn.Module):
    def forward(self, boxes):
        if overlap(boxes.exp(), self.anchors()).sum() == 0:  # ASG104
            return boxes
