import torch


def fit(model, loader, opt, on_step):
    model.cuda()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda(non_blocking=True)), y)
        loss.backward()
        opt.step()
        on_step(loss)


def record(value):
    history.append(value.item())  # ASG102


def once(value):
    history.append(value.item())  # clean


def main(model, loader, opt):
    fit(model, loader, opt, on_step=record)
    once(model.weight.sum())


class Trainer:
    def __init__(self, model, after_step):
        self.model = model.cuda()
        self._after_step = after_step

    def fit(self, loader, opt):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(self.model(x.cuda(non_blocking=True)), y)
            loss.backward()
            opt.step()
            self._after_step(loss)


def keep(value):
    history.append(value.item())  # ASG102


def train(model, loader, opt):
    Trainer(model, keep).fit(loader, opt)
