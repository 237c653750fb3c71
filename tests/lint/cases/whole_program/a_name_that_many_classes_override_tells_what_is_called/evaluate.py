import torch


def evaluate(model, loader):
    for users in loader:
        model.full_sort_predict(users)
