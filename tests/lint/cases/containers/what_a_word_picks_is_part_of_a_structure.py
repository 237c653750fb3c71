# xfail: likely enough for the default, by the weights: few such programs were judged
import torch


class Detector(torch.nn.Module):
    def pooled(self, x):
        if self.embed:
            return torch.flatten(torch.nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1)
        return self.head(x)

    def loss(self, x):
        boxes, scores, meta = self.pooled(x)
        parts = torch.split(boxes, meta["sizes"], dim=2)  # clean
        return parts, scores

    def forward(self, x):
        found = torch.relu(x)
        if found.any():  # ASG104
            x = x + 1
        if found["kept"]:  # clean
            x = x + 1
        return x + found["weight"].item()  # ASG102


class Speech(torch.nn.Module):
    def forward(self, x):
        tokens = torch.relu(x)
        if isinstance(tokens, dict) and "segments" in tokens:
            segments = tokens["segments"]
            if segments and segments[0]:  # clean
                return segments[0][0]["result"]
        return tokens
