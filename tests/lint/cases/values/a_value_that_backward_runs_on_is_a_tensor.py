# settings: min_probability=0.67
import torch


def train(step_fn, loader, engine, optimizer, writer):
    scaler = torch.amp.GradScaler()
    for batch in loader:
        loss, parts = step_fn(engine, batch)
        engine.backward(loss)
        scaler.step(optimizer)
        print(f"{loss}")  # ASG101


def train_2(step_fn, loader, engine, optimizer, writer):
    scaler = torch.amp.GradScaler()
    for batch in loader:
        loss, parts = step_fn(engine, batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        print(f"{loss}")  # ASG101


def train_3(step_fn, loader, engine, optimizer, writer):
    scaler = torch.amp.GradScaler()
    for batch in loader:
        loss, parts = step_fn(engine, batch)
        run(loss)
        scaler.step(optimizer)
        print(f"{loss}")  # clean
