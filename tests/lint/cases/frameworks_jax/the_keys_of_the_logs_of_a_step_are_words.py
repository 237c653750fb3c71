# clean

import jax


def fit(step, params, opt_state, batches, kept: dict[str, list]):
    kept = {"loss": []}
    for batch in batches:
        params, opt_state, logs = step(params, opt_state, batch)
        for key in logs:
            kept[key].append(logs[key])
