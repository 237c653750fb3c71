import numpy as np


class Tracker:
    def __call__(self, grid):
        times = grid.time.values
        times = times[times.astype("int") >= 0]
        steps = np.diff(times)
        assert all(steps == steps[0])  # clean
        print(times)  # clean
