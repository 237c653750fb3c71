# path: tests/test_net.py

import torch


def test_net(net, rows):
    for row in rows:
        print(net(row))  # clean
