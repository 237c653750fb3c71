import numpy as np
import torch


def overlap(output, target):
    output = output.view(-1)
    return torch.histc(output[output == target.view(-1)], bins=9, min=0, max=8)  # ASG105
