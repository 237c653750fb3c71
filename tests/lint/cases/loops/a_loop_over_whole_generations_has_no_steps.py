import torch


class Generates(torch.nn.Module):
    def generate(self, x: torch.Tensor): ...


class Windows(Generates):
    def generate(self, x: torch.Tensor, windows):
        for _ in range(windows):
            out = super().generate(x)
            if out[0] > 3:  # clean
                break
            self.finish(out)

    def finish(self, out: torch.Tensor):
        return out.tolist()  # clean


class Canvases(torch.nn.Module):
    def generate(self, ids: torch.Tensor, canvases, steps):
        for _ in range(canvases):
            h = self.encoder(ids)
            for cur_step in reversed(range(1, steps + 1)):
                h = self.decoder(h)
                if h.all():  # ASG104
                    break
            ids = torch.cat([ids, h])
            if ids.any():  # clean
                break
