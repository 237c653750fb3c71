import torch


class Predictor(torch.nn.Module):
    def __init__(self):
        self.state = {}

    def forward(self, image: torch.Tensor):
        self.state["image"] = image
        self.prune(3)
        if self.state.get("image").sum() > 1:  # ASG104
            return image

    def prune(self, oldest: int):
        for frames in self.state.get("frames", {}).values():
            for frame in [each for each in frames if each < oldest]:
                frames.pop(frame)
