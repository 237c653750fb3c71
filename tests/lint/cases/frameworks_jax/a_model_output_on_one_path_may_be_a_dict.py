import jax


def merge(a, b):
    a, b = jax.tree_util.tree_map(fetch, (a, b))
    return jax.tree_util.tree_map(lambda x, y: x.merge(y), a, b)


class Trainer:
    def evaluate(self, params, batches):
        metrics = None
        for batch in batches:
            update = self.compiled.eval_step(params, jax.device_put(batch))
            if metrics:  # clean
                metrics = merge(metrics, update)
            else:
                metrics = update
