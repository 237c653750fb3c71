import torch


class Checkpoint(torch.nn.Module):
    def doc(self, ids):
        return self.bert(ids.cuda(non_blocking=True))

    def from_texts(self, texts, size):
        text_batches = self.tokens(texts, size)
        outs = [self.doc(ids) for ids in text_batches]
        return (torch.cat(outs) > 0).sum(-1).tolist()  # clean

    def of_text(self, texts, size):
        heads = self.heads(texts, size)
        outs = [self.doc(ids) for ids in heads]
        return (torch.cat(outs) > 0).sum(-1).tolist()  # ASG102


class Indexer:
    def __init__(self, checkpoint: Checkpoint):
        self.checkpoint = checkpoint

    def index(self, passages):
        lens = []
        for passages_batch in batch(passages, 50 * 32):
            lens.extend(self.checkpoint.from_texts(passages_batch, 32))
        return lens

    def search(self, passages):
        lens = []
        for passages_batch in batch(passages, 50 * 32):
            lens.extend(self.checkpoint.of_text(passages_batch, 32))
        return lens


class Encoder(torch.nn.Module):
    def encode(self, x, size):
        parts = [self.net(p) for p in self.batches(x, size)]
        return torch.cat(parts).sum().item()  # ASG102


def evaluate(encoder: Encoder, loader: torch.utils.data.DataLoader):
    for batch in loader:
        encoder.encode(batch, 32)
