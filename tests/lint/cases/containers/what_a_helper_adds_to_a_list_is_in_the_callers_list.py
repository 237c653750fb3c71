import cupy as cp


def update(cost, attn, scores):
    scores.append(-cost + 0.2 * cp.sum(cp.log(attn)))


def through(cost, attn, kept):
    update(cost, attn, kept)


def count(names):
    names.append(len(names))


def nexts(model, n, margin):
    scores, others, names = [], [], []
    for i in range(n):
        attn = cp.asarray(model(i))
        update(i, attn, scores)
        through(i, attn, others)
        count(names)
    best = max(scores)  # ASG104
    last = max(others)  # ASG104
    most = max(names)  # clean
    return [i for i, s in enumerate(scores) if best - s > margin], last, most  # ASG104


def train(model, loader):
    for batch in loader:
        nexts(model, batch, 3)
