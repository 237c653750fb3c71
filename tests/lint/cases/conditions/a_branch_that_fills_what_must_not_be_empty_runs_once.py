import torch


class Tracker:
    def step(self, frame: torch.Tensor, points: torch.Tensor):
        kept = self.state["kept"]
        if len(kept["frames"]) == 0:
            self.add(points.max().item())  # clean
        if len(kept["frames"]) == 0:
            raise RuntimeError("add points first")
        if len(kept["lost"]) == 0:
            self.add(points.min().item())  # ASG102
        return self.model(frame)


def run(tracker: Tracker, loader: torch.utils.data.DataLoader, points):
    for frame in loader:
        tracker.step(frame.cuda(non_blocking=True), torch.exp(points))
