import torch


class Assigner(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        try:
            return self.assign(scores)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
        return scores.tolist()  # clean


class Fused(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        try:
            import fused

            return fused.assign(scores)
        except ImportError:
            pass
        return scores.tolist()  # ASG102


class Tried(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        try:
            scores = self.assign(scores)
        except RuntimeError:
            scores = scores * 2
        return scores.tolist()  # ASG102
