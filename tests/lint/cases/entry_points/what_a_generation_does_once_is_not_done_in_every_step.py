import torch


class Model(torch.nn.Module):
    def prepare(self, ids: torch.Tensor):
        return ids[ids > 0]  # clean

    @torch.no_grad()
    def generate(self, ids: torch.Tensor):
        ids = self.prepare(ids)
        for _ in range(100):
            token = self.forward(ids).argmax(-1)
            print(token.sum().item())  # ASG102
            ids = torch.cat([ids, token], -1)
        return ids


def run(model: Model, loader):
    for ids in loader:
        model.generate(ids)
