class Data:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def apply(self, func):
        for name, value in self.__dict__.items():
            setattr(self, name, func(value))
        return self

    def to(self, device, **kwargs):
        return self.apply(lambda v: v.to(device, **kwargs))


class Batch(Data):
    pass


class Late(Data):
    def to(self, device):
        return self.apply(lambda v: v.to(device, non_blocking=True))


class Plan:
    def to(self, goal):
        return self, goal
