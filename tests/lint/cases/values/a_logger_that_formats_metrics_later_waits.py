import logging

import jax
import jax.numpy as jnp

log = logging.getLogger()


@jax.jit
def update(params, batch):
    err = jnp.mean((params - batch) ** 2)
    return params - err, {"err": err, "norm": jnp.abs(err)}


class Pending:
    def __init__(self):
        self.pending = None

    def note(self, step, stats):
        if self.pending is not None:
            self.write(*self.pending)
        self.pending = (step, stats)

    def write(self, step, stats):
        part = stats["err"]
        print(f"{step}: {part:.3f}")  # ASG101


class Rows:
    def __init__(self, path):
        self.path = path
        self.rows = []

    def add(self, step, stats):
        self.rows.append((step, stats))
        if len(self.rows) >= 10:
            self.flush()

    def flush(self):
        with open(self.path, "a") as file:
            for step, stats in self.rows:
                file.write(f"{step},{stats['err']}\n")  # ASG101
        self.rows.clear()


class History:
    last = None

    def push(self, values):
        self.last = values

    @property
    def latest(self):
        return self.last

    def line(self):
        return "err={:.3f}".format(self.latest["err"])  # ASG101


class Console:
    def __init__(self):
        self.queue = None

    def put(self, stats):
        self.queue = stats

    def show(self):
        for name, value in self.queue.items():
            print(name, value)  # ASG101


class Loop:
    def __init__(self):
        self.console = Console()

    def after(self, stats):
        self.console.put(stats)
        self.console.show()


class Delayed:
    def __init__(self):
        self.before = 0

    def __call__(self, step, value):
        before, self.before = self.before, value
        log.info("step %d: %s", step - 1, before)  # ASG101


class Count:
    def __init__(self):
        self.before = 0

    def __call__(self, step):
        before, self.before = self.before, step
        log.info("step %d", before)  # clean


def fit(params, batches):
    pending, rows, history, loop = Pending(), Rows("a.csv"), History(), Loop()
    tell, count = Delayed(), Count()
    for step, batch in enumerate(batches):
        params, stats = update(params, batch)
        pending.note(step, stats)
        rows.add(step, stats)
        history.push(stats)
        print(history.line())
        loop.after(stats)
        tell(step, stats["norm"])
        count(step)
