# settings: min_probability=0.67
import torch


def train(trainer, loader, optimizer):
    for batch in loader:
        out = trainer.compute(batch)
        out["loss"].backward()
        optimizer.step()
        print(f"{out['loss']}")  # ASG101
        print(f"{out['rate']}")  # clean


def train_2(trainer, loader, optimizer):
    for batch in loader:
        out = trainer.compute(batch)
        loss = out["loss"]
        loss.backward()
        optimizer.step()
        print(f"{loss}")  # ASG101


def train_3(trainer, loader, optimizer):
    for batch in loader:
        out = trainer.compute(batch)
        loss = out["loss"]
        optimizer.step()
        print(f"{loss}")  # clean
