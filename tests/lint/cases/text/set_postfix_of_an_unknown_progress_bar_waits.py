import jax


def train(state, batches, bars):
    with bars(batches) as bar:
        for batch in bar:
            loss = jax.jit(state.apply)(state.params, batch)
            bar.set_postfix({"loss": loss})  # ASG107
