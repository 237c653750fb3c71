import numpy as np
import torch


def track(tracker, model, loader):
    for sample in loader:
        model(sample)
        boxes, labels = tracker.get(np.float32)
        valid_mask = labels > tracker.threshold
        boxes = boxes.detach()[valid_mask]  # ASG105
        labels = labels[valid_mask]  # ASG105


def count(tracker, model, loader):
    for sample in loader:
        model(sample)
        labels = tracker.get(np.float32)
        valid_mask = labels > tracker.threshold
        labels = labels[valid_mask]  # clean
