import jax


def train(model, params, batches):
    for batch in batches:
        loss, grads = jax.value_and_grad(model.apply)(params, batch)
        print(model.tabulate(params, batch))
        print(loss)  # ASG101
