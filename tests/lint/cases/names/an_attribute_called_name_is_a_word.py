import torch


def describe(task, parts):
    for part in parts:
        print(f"{task.name}: {part}")


def train(model, loader):
    for batch in loader:
        output = model(batch)
        output.backward()
        describe(output.sum(), output)  # clean


def describe_2(task, parts):
    for part in parts:
        print(f"{task.name}: {part}")
    print(task)  # ASG101


def train_2(model, loader):
    for batch in loader:
        output = model(batch)
        output.backward()
        describe_2(output.sum(), output)
