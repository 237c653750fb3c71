import torch


def nms(boxes, scores):
    keep = scores.new(3).zero_().long()
    if boxes.numel() == 0:
        return keep
    count = 0
    while boxes.numel() > 0:
        count += 1
    return keep, count


class Detect(torch.nn.Module):
    def forward(self, boxes, scores):
        chosen = scores.gt(3)
        scores = scores[chosen]  # ASG105
        ids, count = nms(boxes, scores)
        return scores[ids[:count]]
