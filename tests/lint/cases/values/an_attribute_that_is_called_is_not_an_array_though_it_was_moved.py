import torch


class Trainer:
    def __init__(self, options):
        self.pixels = build(options).to(self.device)  # clean

    def optimize_parameters(self):
        output = self.net(self.x)
        if self.pixels:
            loss = self.pixels(output)
        loss.backward()
