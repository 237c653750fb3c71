import jax


@jax.jit
def sample_actions(net, x):
    return net(x).sample()
