import torch


def search(model, batches):
    for batch in batches:
        score = model(batch.cuda(non_blocking=True)).mean()
        found = []
        for step in range(3):
            if step > 1:
                found.append(score)
                continue
        max(found)  # ASG104
        best = 0
        for step in range(3):
            if step > 1:
                best = score
                break
        if best > 3:  # ASG104
            return batch
        worst = 0
        for step in range(3):
            if step > 1:
                return score
            worst = step
        if worst > 1:  # clean
            return batch
    return None
