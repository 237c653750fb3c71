import jax
import numpy as np
import helpers


def run(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(helpers.divergence(preds, y))  # ASG102


def run_2(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        np.asarray(to_score(preds))  # clean


def run_3(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(to_score(preds))  # clean


def run_4(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(helpers.to_numpy(preds))  # ASG103


def run_5(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(helpers.Scorer(preds))  # clean


def run_6(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(helpers.save(preds))  # clean


def run_7(net, params, loader, to_score):
    for x, y in loader:
        preds = net.apply(params, x)
        float(helpers.divergence(x, y))  # clean
