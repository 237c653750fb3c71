import jax
from einops import rearrange


def run(model, loader):
    for batch in loader:
        if rearrange(model(batch), "b c -> (b c)").sum() > 0:  # ASG104
            break
