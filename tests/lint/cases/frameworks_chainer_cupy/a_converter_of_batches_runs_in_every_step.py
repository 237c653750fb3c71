import chainer
from chainer.dataset import to_device


@chainer.dataset.converter()
def with_targets(batch, device=None):
    targets = []
    for i in range(len(batch)):
        targets.extend([i] * len(batch[i]))
    xp = device.xp
    return to_device(device, xp.asarray(targets))  # ASG106


def once(batch, device=None):
    targets = []
    for i in range(len(batch)):
        targets.extend([i] * len(batch[i]))
    xp = device.xp
    return to_device(device, xp.asarray(targets))  # clean
