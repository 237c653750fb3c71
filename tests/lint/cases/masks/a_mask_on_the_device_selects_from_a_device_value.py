import torch


class Head(torch.nn.Module):
    def forward(self, boxes, mode: str):
        return self.assign(boxes, (self.net(boxes) > 0).any(0), mode)  # clean

    def assign(self, boxes, chosen, mode):
        if mode == "cpu":
            boxes = boxes.cpu()  # ASG103
        return boxes[self.net(boxes) > 0]  # ASG105
