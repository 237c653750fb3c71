import torch


class Scores:
    def flat_values(self, values):
        return {key: value.item() for key, value in values.items()}  # ASG102

    def copy(self, values):
        return {key: value.item() for key, value in values.items()}  # clean


def make(builder, options):
    if options.get("plain"):
        return dict(options), None
    return builder(**options), None


class Trainer:
    def __init__(self, options):
        self.scores, _ = make(Scores, options)

    def epoch(self, loader):
        for batch in loader:
            values = self.model(batch)
            self.scores.flat_values(values)
            self.scores.copy(values)
