import torch


def benchmark_gradients(model, x):
    loss = model(x).sum()
    loss.backward()
    return loss.item()  # clean


def test_gradients(model, x):
    loss = model(x).sum()
    loss.backward()
    return loss.item()  # clean


def fit_batch(model, x):
    loss = model(x).sum()
    loss.backward()
    return loss.item()  # ASG102
