import tensorflow as tf


def score(scorer, dataset, names):
    for x in dataset:
        scorer.score(x)
        names.append(x.numpy())  # ASG103


def score_2(scorer, dataset, names):
    for x in dataset:
        len(names)
        names.append(x.numpy())  # clean
