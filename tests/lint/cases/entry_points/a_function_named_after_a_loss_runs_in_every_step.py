import torch


def wing_loss(pred, label):
    difference = (pred - label).abs()
    return difference[torch.relu(difference) < 3].sum()  # ASG105


def hingeloss(pred, label):
    difference = (pred - label).abs()
    return difference[torch.relu(difference) < 3].sum()  # ASG105


def plot_loss(pred, label):
    difference = (pred - label).abs()
    return difference[torch.relu(difference) < 3].sum()  # clean


def evaluate_loss(pred, label):
    difference = (pred - label).abs()
    return difference[torch.relu(difference) < 3].sum()  # clean
