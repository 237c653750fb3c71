import cupy as cp


def run(field, scale, steps):
    for _ in range(steps):
        field = cp.sqrt(cp.exp(field))
        if cp.linalg.norm(field) < 1e-6:  # ASG104
            break
        host = cp.asnumpy(field)  # ASG103
        total = field.get()  # ASG103
        field = field * host.mean() / total.max()
    return field
