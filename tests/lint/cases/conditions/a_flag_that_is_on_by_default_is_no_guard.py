import torch


class Trainer:
    def __init__(self, verbose=True, debug=False):
        self.verbose = verbose
        self.debug = debug

    def fit(self, model, loader, optimizer, verbose=1, log=True):
        total = 0.0
        for x in loader:
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            if verbose == 1:
                total += loss.item()  # ASG102
            if verbose > 1:
                total += loss.item()  # clean
            if self.verbose and log:
                total += loss.item()  # ASG102
            if self.debug:
                total += loss.item()  # clean

        def inner():
            for x in loader:
                model(x).sum().backward()
                if verbose:
                    print(model(x).item())  # ASG102

        inner()


def fit_quietly(model, loader, optimizer, verbose=0, debug=False, first=None):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if verbose:
            print(loss.item())  # clean
        if verbose >= 1:
            print(loss.item())  # clean
        if debug:
            print(loss.item())  # clean
        if first:
            print(loss.item())  # clean


def summarize(model, verbose=True):
    if not verbose:
        return
    for name, parameter in model.named_parameters():
        print(name, parameter.mean())  # clean
