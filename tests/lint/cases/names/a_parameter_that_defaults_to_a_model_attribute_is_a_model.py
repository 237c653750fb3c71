import torch


class Runner:
    def validate(self, net=None):
        if net is None:
            net = self.net
        for images, labels in self.loader:
            output = net(images.to(self.device, non_blocking=True))
            self.note(output, labels)

    def note(self, output, labels):
        self.total += output.mean().item()  # ASG102
