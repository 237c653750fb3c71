import torch


def test(model, loader):
    for i, x in enumerate(loader):
        loss = model(x)
        line = "%s %s" % (i, loss)  # ASG101


def test_2(model, loader):
    for i, x in enumerate(loader):
        loss = model(x)
        line = ("%s" + " %s") % (i, loss)  # ASG101


def test_3(model, loader):
    for i, x in enumerate(loader):
        loss = model(x)
        line = ("%s " * 2) % (i, loss)  # ASG101
