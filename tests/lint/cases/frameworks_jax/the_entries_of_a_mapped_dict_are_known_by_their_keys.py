import jax
import numpy as np


def evaluate(eval_step, state, batches, count):
    for _ in range(count):
        batch = next(batches)
        pack = {"mask": batch["mask"], "text": np.stack(batch["text"])}
        metrics, pack["pred"] = eval_step(state, batch)
        pack = jax.tree_util.tree_map(lambda x: x.reshape((-1, 4)), pack)
        for i, valid in enumerate(pack["mask"]):
            if valid:
                print(pack["text"][i])
                print(int(pack["pred"][i][0]))  # ASG102
        print(list(pack.values()))  # ASG101
