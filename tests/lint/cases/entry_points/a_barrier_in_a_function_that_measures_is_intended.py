# path: train.py

import torch


def run(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # ASG202


def run_cuda_benchmark(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # clean


def measure_latency(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # clean


def time_forward(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # clean


def timed_forward(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # ASG202
