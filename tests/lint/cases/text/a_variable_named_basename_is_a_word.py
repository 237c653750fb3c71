import torch


def test(model, loader):
    for batch in loader:
        parts = batch.to("cuda", non_blocking=True)
        for i, row in enumerate(model(parts)):
            basename = parts[i]
            plot(row, "{}.png".format(basename))  # clean


def test_2(model, loader):
    for batch in loader:
        parts = batch.to("cuda", non_blocking=True)
        for i, row in enumerate(model(parts)):
            basename = parts[i]
            plot(row, "{}.png".format(row.mean()))  # ASG101
