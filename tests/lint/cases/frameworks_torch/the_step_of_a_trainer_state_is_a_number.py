# clean

import torch


def main(trainer, loader):
    for batch in loader:
        trainer.train_step(batch)
        keep(int(trainer.state.step))
