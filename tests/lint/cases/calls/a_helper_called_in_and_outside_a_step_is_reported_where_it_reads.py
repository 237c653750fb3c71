import torch


def sampled(overlaps, low):
    near = (overlaps >= low).nonzero()  # ASG105
    far = (overlaps < low).nonzero()  # ASG105
    return torch.cat((near, far))


class Layer(torch.nn.Module):
    def forward(self, boxes: torch.Tensor):
        return sampled(boxes, 0.5)


def shown(boxes):
    return sampled(boxes, 0.5)
