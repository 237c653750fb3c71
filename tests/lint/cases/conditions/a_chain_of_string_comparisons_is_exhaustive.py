import numpy as np
import torch


def run(model, loader, mode, other, counts):
    for batch in loader:
        score = model(batch).sum()
        if mode == "head":
            score = np.median(counts)
        elif mode == "tail":
            score = np.mean(counts)
        total = score.item()  # clean


def run_2(model, loader, mode, other, counts):
    for batch in loader:
        score = model(batch).sum()
        if mode == "head":
            score = np.median(counts)
        elif other > 2:
            score = np.mean(counts)
        total = score.item()  # ASG102


def run_3(model, loader, mode, other, counts):
    for batch in loader:
        score = model(batch).sum()
        if mode == "head":
            score = np.median(counts)
        elif other == "tail":
            score = np.mean(counts)
        total = score.item()  # ASG102
