import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def cycle(dl):
    while True:
        for data in dl:
            yield data


def train(model, ds, optim):
    accelerator = Accelerator()
    dl = DataLoader(ds)
    model, optim, dl = accelerator.prepare(model, optim, dl)
    for img in dl:
        img = img.to(accelerator.device)  # clean
        loss = model(img)
        accelerator.backward(loss)
        optim.step()
        print(img.max().item())  # ASG102


def train_by_next(model, ds, optim):
    accelerator = Accelerator()
    model, optim, dl = accelerator.prepare(model, optim, DataLoader(ds))
    batches = cycle(dl)
    for _ in range(1000):
        loss = model(next(batches).to(accelerator.device))  # clean
        accelerator.backward(loss)
        optim.step()


class Trainer:
    def __init__(self, vae, dl, val_dl, optim, fabric):
        self.accelerator = Accelerator()
        self.dl = dl
        self.vae, self.optim, self.dl = self.accelerator.prepare(vae, optim, dl)
        self.val_dl = val_dl
        self.test_dl = fabric.setup_dataloaders(DataLoader(dl))

    def train(self):
        device = self.accelerator.device
        for img in self.dl:
            loss = self.vae(img.to(device))  # clean
            self.accelerator.backward(loss)
            self.optim.step()

    def validate(self):
        for img in self.val_dl:
            self.vae(img.to(self.accelerator.device))  # ASG106

    def test(self):
        for img in self.test_dl:
            self.vae(img.to(self.accelerator.device))  # clean
