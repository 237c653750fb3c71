import jax


def export(count: jax.Array, train_state, partition):
    train_state = shard(train_state, partition)
    train_state = pure(train_state)
    print(count)  # clean
