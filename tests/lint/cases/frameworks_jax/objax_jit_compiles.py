import objax


def train(op, batches):
    op = objax.Jit(op)
    for x, y in batches:
        print(float(op(x, y)[0]))  # ASG102
