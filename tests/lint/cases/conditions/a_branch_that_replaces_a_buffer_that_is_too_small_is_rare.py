import torch

BUFFERS = {}


class Experts(torch.nn.Module):
    def forward(self, x, key, count):
        if key not in BUFFERS or BUFFERS[key].size < count:
            if key in BUFFERS:
                torch.cuda.synchronize()  # clean
            BUFFERS[key] = torch.tensor([count, 0], device=x.device)  # clean
        if key not in BUFFERS or self.training:
            BUFFERS[key] = torch.tensor([count, 0], device=x.device)  # ASG106
        return x * BUFFERS[key]


class Positions(torch.nn.Module):
    def forward(self, ids, count):
        if not (compiling() and torch.is_tensor(count)) and count > self.weights.size(0):
            self.make_weights(count, ids.device)
        return self.weights[ids]

    def make_weights(self, count, device):
        self.weights = torch.tensor([[1.0] * count], device=device)  # clean
