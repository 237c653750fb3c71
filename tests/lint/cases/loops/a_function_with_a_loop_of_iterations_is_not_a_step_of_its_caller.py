import cupy


def fit(a, b, tol, max_iter):
    r = b - cupy.dot(a, b)
    for i in range(max_iter):
        r = r - cupy.dot(a, r)
        if cupy.linalg.norm(r) < tol:  # ASG104
            return r
    return r


def run(a, tol, max_iter):
    for trial in range(3):
        b = cupy.zeros(3)
        print(fit(a, b, tol, max_iter))  # clean
