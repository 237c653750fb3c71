import torch


class Greedy:
    def update(self, tokens: torch.Tensor, logits: torch.Tensor):
        tokens = torch.cat([tokens, logits.argmax(dim=-1)[:, None]], dim=-1)
        return tokens, (tokens[:, -1] == self.end).all()


class Sampling:
    def update(self, tokens: torch.Tensor, logits: torch.Tensor):
        chosen = torch.distributions.Categorical(logits=logits).sample()
        return torch.cat([tokens, chosen[:, None]], dim=-1), (chosen == self.end).all()


class Counting:
    count = 7

    def update(self, tokens: torch.Tensor, logits: torch.Tensor):
        return tokens, tokens.shape[-1] > self.count


class Limiting:
    count = 9

    def update(self, tokens: torch.Tensor, logits: torch.Tensor):
        return tokens, len(tokens) > self.count


class Decoding:
    def __init__(self, net: torch.nn.Module, options):
        self.net = net
        self.decoder = Sampling() if options.temperature else Greedy()
        self.limit = Counting() if options.counts else Limiting()

    def run(self, tokens: torch.Tensor):
        for _ in range(self.limit.count):
            logits = self.net(tokens)
            tokens, completed = self.decoder.update(tokens, logits)
            if completed:  # ASG104
                break
            tokens, completed = self.limit.update(tokens, logits)
            if completed:  # clean
                break
        return tokens
