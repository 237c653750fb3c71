import numpy as np
import torch
import tqdm
from tqdm import tqdm as bar


class Codec:
    def compress(self, audio, hop, verbose):
        range_fn = range if not verbose else tqdm.trange
        for i in range_fn(0, len(audio), hop):
            codes.append(self.model(audio[i : i + hop]).cpu())  # ASG103

    def slide(self, chunks):
        for c in np.arange(0, len(chunks), self.batch_size):
            out.append(self.model(chunks[c]).cpu())  # ASG103

    def draw(self, sizes, start):
        for c in self.ranges(0, len(sizes), start):
            out.append(self.model(sizes[c]).cpu())  # clean


def find(embeddings, size):
    for start in bar(range(0, len(embeddings), size), desc="finding"):
        scores = torch.mm(embeddings[start : start + size], embeddings.T)
        if (scores > 0.5).any():  # ASG104
            continue
