# clean

import numpy as np
import torch


def size_of(image: np.ndarray):
    return image.shape[-2], image.shape[-1]


def train(loader, model):
    for image in loader:
        model(image).backward()
        height, width = size_of(image.cuda(non_blocking=True))
        if height > width:
            continue
