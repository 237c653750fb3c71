import torch

from convert import as_it_is, both, moved, numbered


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        boxes = self.head(x)
        there = boxes[:, 2] >= boxes[:, 0]
        keep = moved(there, boxes)
        a = boxes[keep]  # ASG105
        c = boxes[as_it_is(there)]  # ASG105
        _, kept = both(there, boxes)
        d = boxes[kept]  # ASG105
        e = boxes[as_it_is(boxes.argmax(0))]  # clean
        f = boxes[numbered(there)]  # clean
        return a, c, d, e, f
