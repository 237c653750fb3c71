import jax


@jax.jit
def all_done(mask):
    return mask.sum() == 0


def run(env, mask):
    for step in range(100):
        env.step(mask)
        if all_done(mask):  # ASG104
            break
