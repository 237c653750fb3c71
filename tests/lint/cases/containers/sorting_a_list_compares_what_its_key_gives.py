import bisect
import heapq

import torch


def search(model, batches, k):
    for batch in batches:
        logp = model(batch.cuda(non_blocking=True)).log_softmax(-1)
        hyps = [{"score": logp[0, i], "tokens": [i]} for i in range(k)]
        hyps.sort(key=lambda hyp: hyp["score"])  # ASG104
        hyps.sort(key=lambda hyp: len(hyp["tokens"]))  # clean
        scores = [hyp["score"] for hyp in hyps]
        scores.index(logp[0, 0])  # ASG104
        bisect.bisect_left(scores, logp[0, 0])  # ASG104
        heap = []
        heapq.heappush(heap, (logp[0, 0], 0))  # ASG104
        heapq.heappop(heap)  # ASG104
        names = ["a", "b"]
        names.sort()  # clean
        names.index("a")  # clean
