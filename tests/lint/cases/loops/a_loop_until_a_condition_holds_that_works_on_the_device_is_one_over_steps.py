import torch


class Cloth:
    def __init__(self, size):
        self.x = torch.zeros(size, 3, device="cuda")
        self.v = torch.zeros(size, 3, device="cuda")

    def advance(self, dt):
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v


def simulate(cloth: Cloth, end, dt):
    time = 0.0
    while time < end:
        cloth.advance(dt)
        if not torch.isfinite(cloth.x.sum()):  # ASG104
            raise FloatingPointError
        time += dt


def collect(cloth: Cloth, names):
    for name in names:
        print(name, cloth.x.sum())  # clean


def wait(cloth: Cloth, lines):
    while lines:
        print(lines.pop(), cloth.x.shape)  # clean
