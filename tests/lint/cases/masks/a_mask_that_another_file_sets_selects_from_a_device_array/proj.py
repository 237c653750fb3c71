import cupy as cp


class Projection:
    def __init__(self, size):
        self.magnitude = None
        self.mask = None
        self.rows = None
        self.size = size

    def apply(self, x):
        f = cp.fft.fftn(x)
        seen = self.magnitude > 0
        f[seen] *= 0.5  # ASG105
        g = f[self.mask]  # ASG105
        if self.rows is None or self.rows == 3:  # clean
            return g
        return cp.fft.ifftn(f).real[self.rows]  # clean


def reconstruct(proj: Projection, x, steps):
    for _ in range(steps):
        x = proj.apply(x)
        if cp.linalg.norm(x) < 1e-6:  # ASG104
            break
    return x
