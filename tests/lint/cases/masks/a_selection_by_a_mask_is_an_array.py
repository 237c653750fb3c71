import torch


def non_max_suppression(prediction, limit):
    kept = prediction[prediction[:, 4] > limit]  # ASG105
    return (kept[:, 5:] > limit).nonzero()  # ASG105
