import torch


class Net(torch.nn.Module):
    def forward(self, x, feats, copies=1):
        counts = torch.argmax(self.predict(x), dim=-1)
        return repeated(x, feats, copies) + expanded(x, feats, counts)


def repeated(x, feats, copies):
    return feats["pad"].repeat_interleave(copies, 0) * x


def expanded(x, feats, counts):
    return feats["pad"].repeat_interleave(counts, 0) * x  # ASG105
