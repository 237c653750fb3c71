import jax


def unroll(truncated, state, key):
    for i in range(12):
        state, loss = truncated.unroll_step(state, key)
        print(i, loss)  # ASG101


def unroll_2(truncated, state, key):
    for i in range(12):
        cursor, loss = truncated.unroll_step(cursor, key)
        print(i, loss)  # clean
