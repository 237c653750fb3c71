# settings: min_confidence=low
import torch


def block_ids(types: torch.Tensor, device: torch.device):
    types = types.to(device)  # clean
    return types == 1


def weights(values, device):
    return values.to(device)  # ASG106


class Mixer(torch.nn.Module):
    def forward(self, hidden, types: torch.Tensor):
        ids = block_ids(types, device=hidden.device)
        return self.mix(hidden, ids)


def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = model(x, y)
        loss = loss * weights(y, device)
        loss = loss * weights(loss.detach(), device)
        loss.backward()
        optimizer.step()


class Inference:
    def infer(self, chunks: torch.Tensor):
        return self.model(chunks.to(self.device))  # ASG106

    def slide(self, waveform: torch.Tensor):
        chunks = torch.einsum("ij->ji", waveform)
        for start in range(0, 100, self.batch_size):
            self.infer(chunks[start : start + self.batch_size])
