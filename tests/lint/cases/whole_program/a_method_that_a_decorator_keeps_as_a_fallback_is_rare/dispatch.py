from functools import wraps

IMPLEMENTATIONS = {}


def dispatched(cls=None, *, transposed=False):
    def wrapper(cls):
        original = cls.forward

        @wraps(original)
        def forward(self, *args):
            chosen = IMPLEMENTATIONS.get(self.config.implementation, original)
            return chosen(self, *args)

        cls.forward = forward
        return cls

    return wrapper if cls is None else wrapper(cls)


def counted(cls):
    original = cls.forward

    def forward(self, *args):
        self.calls += 1
        return original(self, *args)

    cls.forward = forward
    return cls
