import torch


def train(model, rows):
    for row in rows:
        batch = tokenize(row).to("cuda")  # ASG106
        model(batch).sum().backward()


def train_2(model, rows):
    for row in rows:
        batch = tokenize(row).to("cuda:1")  # ASG106
        model(batch).sum().backward()


def train_3(model, rows):
    for row in rows:
        batch = tokenize(row).to("mps")  # ASG106
        model(batch).sum().backward()


def train_4(model, rows):
    for row in rows:
        batch = tokenize(row).to("cpu")  # clean
        model(batch).sum().backward()
