# settings: min_confidence=low
import cupy as cp


def accumulate(current, total=None):
    if total is None:
        total = current.get()  # clean
    else:
        shifted = cp.array(total) - current  # ASG106
        total += shifted.get()  # ASG103
    return total


def on_the_device(current, other):
    return cp.array(other) - current  # clean


def run(state, steps):
    total = None
    for i in range(steps):
        state = cp.fft.ifftn(cp.fft.fftn(state)).real
        total = accumulate(state, total)
        state = on_the_device(state, state)
    return total
