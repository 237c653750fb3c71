import cupy as cp


def load(proj, data, rows):
    proj.magnitude = cp.asarray(data)
    proj.mask = proj.magnitude <= 3.0
    proj.rows = rows
