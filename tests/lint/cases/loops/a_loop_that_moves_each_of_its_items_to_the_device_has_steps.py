import torch


def track(tracker, frames):
    for frame in frames:
        frame = frame.to("cuda")  # ASG106
        far = tracker.distance(frame) > 9.5
        if far.all():  # ASG104
            continue


def restore(optimizer):
    for state in optimizer.state.values():
        for key, value in state.items():
            state[key] = value.to("cuda")  # clean: it is moved and no more


def place(nets):
    for net in nets:
        net.to("cuda")  # clean
