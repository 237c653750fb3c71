import torch


def batched_nms(boxes, scores, idxs):
    if len(boxes) < 40000:
        return boxes[scores > 0.5]  # ASG105
    for i in torch.unique(idxs).tolist():  # clean
        scores[idxs == i] = 0
    return boxes


class Head(torch.nn.Module):
    def forward(self, boxes, scores: torch.Tensor):
        if len(boxes) > 100_000:
            return boxes[scores > 0.9]  # clean
        if len(boxes) > 100:
            return boxes[scores > 0.5]  # ASG105
        return boxes
