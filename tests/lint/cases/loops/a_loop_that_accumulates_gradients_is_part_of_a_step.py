import jax


def train(loss_fn, params, opt, loader, accum):
    for i in range(1000):
        for _ in range(accum):
            loss, grads = jax.value_and_grad(loss_fn)(params, next(loader))
        print(loss)  # ASG101
