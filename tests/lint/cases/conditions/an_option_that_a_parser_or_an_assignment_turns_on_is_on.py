import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--clip-norm", type=float, default=1.0)
args = parser.parse_args()


class Trainer:
    def __init__(self, model, optimizer, clip_norm=0.0, watch=False, debug_norms=False):
        self.model, self.optimizer = model, optimizer
        self.clip_norm, self.watch, self.debug_norms = clip_norm, watch, debug_norms

    def fit(self, loader):
        for x in loader:
            loss = self.model(x).mean()
            loss.backward()
            if self.clip_norm > 0:
                self.norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1).item()  # ASG102
            if self.watch:
                self.seen = loss.item()  # ASG102
            if self.debug_norms:
                self.seen = loss.item()  # clean
            self.optimizer.step()


def main(model, optimizer, loader, debug_norms=False):
    trainer = Trainer(model, optimizer, clip_norm=args.clip_norm, debug_norms=debug_norms)
    trainer.watch = loader is not None
    trainer.fit(loader)
