"""Decode text greedily: after each token Python asks whether every sequence has ended."""

import torch
from torch import nn

import asyncguard

VOCABULARY, END, LONGEST = 40, 0, 100
torch.manual_seed(5)
embed = nn.Embedding(VOCABULARY, 64).to("cuda")
cell = nn.GRUCell(64, 64).to("cuda")
head = nn.Linear(64, VOCABULARY).to("cuda")

state = torch.randn(8, 64).to("cuda")
token = torch.ones(8, dtype=torch.int64, device="cuda")
ended = torch.zeros(8, dtype=torch.bool, device="cuda")
text = []
with torch.no_grad():
    for position in asyncguard.steps(range(LONGEST)):
        state = cell(embed(token), state)
        scores = head(state)
        scores[:, END] += 0.02 * position  # an end gets likelier
        token = scores.argmax(-1).masked_fill(ended, END)
        ended |= token == END
        text.append(token.tolist())
        if ended.all():
            break
for sequence in zip(*text, strict=True):
    print(*sequence[: (*sequence, END).index(END)])
