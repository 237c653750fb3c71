import sys
import torch


def train(model, loader, should_record, stopped):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        if should_record:
            print(loss)  # clean


def train_2(model, loader, should_record, stopped):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        if stopped:
            print(loss)  # clean
            sys.exit(0)
