import jax


@jax.jit
def update(params, batch):
    return params, params.sum()


def train(params, batches, writer):
    for step, batch in enumerate(batches):
        params, loss = update(params, batch)
        value = float(loss)  # ASG102
        writer.add_scalar("loss", float(loss), step)  # clean
        print(loss, value)  # clean
        double = loss * 2
        print(double)  # ASG101


def choose(params, batches):
    for step, batch in enumerate(batches):
        params, loss = update(params, batch)
        print(loss)  # ASG101
        loss = loss + 1
        print(loss.item())  # ASG102
