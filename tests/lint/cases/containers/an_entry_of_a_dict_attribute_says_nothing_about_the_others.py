import torch


class Tracker:
    def __init__(self, net):
        self.net = torch.nn.Linear(2, 2).cuda()

    def add(self, image):
        self.state["image"] = self.net(image)

    def run(self, loader):
        for image in loader:
            self.add(image)
            state = self.state
            if state["limit"] > 3:
                continue
            if state["image"].sum():  # ASG104
                break
