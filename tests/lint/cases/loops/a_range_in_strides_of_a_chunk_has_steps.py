import torch


def classify(train, test, labels, chunk):
    right = 0
    for start in range(0, labels.shape[0], chunk):
        near = torch.mm(test[start : start + chunk], train).topk(3)[1]
        right += near.eq(labels).sum().item()  # ASG102
    return right


def classify_2(train, test, labels, chunk):
    right = 0
    for start in range(0, labels.shape[0], 1):
        near = torch.mm(test[start : start + chunk], train).topk(3)[1]
        right += near.eq(labels).sum().item()  # clean
    return right
