import torch


class Net(torch.nn.Module):
    def __init__(self, spill=False, chunked=False):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.spill, self.chunked = spill, chunked

    def forward(self, x):
        if self.spill:
            x = self._spilled(x)
        if self.chunked:
            x = self._in_chunks(x)
        return self.inner(x)

    def _spilled(self, x):
        return self._spilled_parts(x)

    def _spilled_parts(self, x):
        for batch in x.split(8):
            self.inner(batch).backward()
            self.norm = batch.norm().item()  # clean
        return x

    def _in_chunks(self, x):
        for batch in x.split(8):
            self.inner(batch).backward()
            self.norm = batch.norm().item()  # ASG102
        return x


def main():
    return Net(chunked=True)
