import argparse

import torch


def prior_loss(pred, target):
    value = (pred - target).square().mean()
    print(value.item())  # clean
    return value


def main(loader, model, optimizer):
    parser = argparse.ArgumentParser()
    parser.add_argument("--prior", type=float, default=0.0)
    args = parser.parse_args()
    for x, y in loader:
        pred = model(x)
        loss = (pred - y).abs().mean()
        if args.prior > 0:
            loss = loss + prior_loss(pred, y)
        loss.backward()
        optimizer.step()
