import torch


class WordAgent:
    def __call__(self, state):
        return self.net(state).cpu()  # ASG103


class Thing:
    def __call__(self, state):
        return self.net(state).cpu()  # clean


class BoxMatcher:
    def match(self, boxes):
        return torch.relu(boxes).cpu()  # ASG103


class Thing2:
    def look(self, boxes):
        return torch.relu(boxes).cpu()  # clean


class PlateauScheduler:
    def step(self, x):
        return torch.relu(x).cpu()  # ASG103


class Thing3:
    def step(self, x):
        return torch.relu(x).cpu()  # clean


class BeamDecoder:
    def decode(self, probs):
        return probs.cpu()  # ASG103


class Thing4:
    def decode(self, probs):
        return probs.cpu()  # clean
