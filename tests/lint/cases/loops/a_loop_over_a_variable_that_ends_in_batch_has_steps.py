import torch


def run(x: torch.Tensor, data):
    for data_batch in data:
        x.item()  # ASG102


def run_2(x: torch.Tensor, data):
    for batch_size in data:
        x.item()  # clean


def run_3(x: torch.Tensor, data):
    for train_batch in data:
        x.item()  # ASG102


def run_4(x: torch.Tensor, data):
    for batch_data in data:
        x.item()  # ASG102


def run_5(x: torch.Tensor, data):
    for minibatch in data:
        x.item()  # ASG102
