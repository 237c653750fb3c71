from typing import Any, Callable

import torch


class Trainer:
    evaluate: Callable[..., Any] | None = None

    def fit(self, model, loader, opt):
        for x, y in loader:
            loss = model(x.cuda(non_blocking=True)).mean()
            loss.backward()
            opt.step()
            self.evaluate(loss)


class Recording(Trainer):
    def prepare(self, history):
        def record(value):
            history.append(value.item())  # ASG102

        def unused(value):
            history.append(value.item())  # clean

        self.evaluate = record
