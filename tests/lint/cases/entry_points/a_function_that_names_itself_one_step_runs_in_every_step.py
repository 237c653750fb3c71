"""What is named like one step runs in each, though nobody in sight calls it, and is handed anything.

Not what counts steps, what makes one, or a schedule, which works on numbers of the host.
"""

import torch
from torch import nn


def speculative_step(draft: nn.Module, ids):
    tokens = []
    for _ in range(4):
        logits = draft(ids)
        tokens.append(logits.argmax(-1).item())  # ASG102
    return first_of(draft(ids), tokens)


def first_of(logits, tokens):
    if logits.argmax(-1)[0].item() == tokens[0]:  # ASG102
        return tokens
    return None


def advance_one_step(states, words):
    return states, torch.tensor(words, device="cuda")  # ASG106


class StreamAnalyzer:
    def __init__(self):
        self.net = nn.Linear(8, 1)

    def step(self, attention):
        return self.net(attention).argmax(-1).item()  # ASG102


class EarlyStopping:
    def step(self, metric):
        loss = torch.mean(metric.cuda())
        return loss.item() > 0.1  # clean


def log_step(values: torch.Tensor):
    total = values.cuda().sum()
    return total.item()  # clean


def num_steps_taken(steps):
    return torch.sum(steps.cuda()).item()  # clean


def takes_a_number_step(count):
    return float(count)  # clean
