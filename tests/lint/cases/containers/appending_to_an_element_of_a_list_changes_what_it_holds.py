import torch


def search(model, batches, beams, limit):
    for batch in batches:
        hypotheses = [[] for _ in range(beams)]
        for step in range(limit):
            scores, tokens = model(batch).topk(beams)
            for i in range(beams):
                hypotheses[i].append((scores[i], tokens[i], step))
        for found in hypotheses:
            best = sorted(found, key=lambda hypothesis: hypothesis[0])  # ASG104
            last = sorted(found, key=lambda hypothesis: hypothesis[2])  # clean
            for score, token, step in best:
                assert token == 3  # ASG104
                assert step == 3  # clean


def log(model, batches):
    for batch in batches:
        kept = {"loss": [[]], "step": [[]]}
        kept["loss"][0].append(model(batch).mean())
        kept["step"][0] = 3
        print(kept["loss"][0][0])  # ASG101
        print(kept["step"][0])  # clean
