from net import Net


def test_net(x):
    assert Net(quantized=True)(x) is not None
