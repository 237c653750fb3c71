class Meter:
    def __init__(self):
        self.total = 0.0

    def add(self, info):
        for value in info.values():
            self.total += float(value)  # ASG102
