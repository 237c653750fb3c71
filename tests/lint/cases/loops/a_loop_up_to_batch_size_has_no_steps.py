import torch


def targets(boxes: torch.Tensor, batch_size):
    for i in range(batch_size):
        boxes = boxes + 1
        print(boxes)  # clean
