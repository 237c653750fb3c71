import torch


def generate(model, length, top_p=None):
    x = torch.zeros(1, 10, dtype=torch.long, device="cuda")
    for _ in range(length):
        logits = model(x)[0, -1]
        if top_p is not None:
            logits = torch.from_numpy(logits.cpu().numpy()).cuda()  # clean
        x = torch.cat((x, logits.argmax()[None, None]), dim=1)
    return x


def biased(model, length, bias=None):
    x = torch.zeros(1, 10, dtype=torch.long, device="cuda")
    for _ in range(length):
        logits = model(x)[0, -1]
        if bias is not None:
            logits = torch.from_numpy(logits.cpu().numpy()).cuda()  # ASG103, ASG106
        x = torch.cat((x, logits.argmax()[None, None]), dim=1)
    return x


def main(model):
    return generate(model, 100), biased(model, 100, bias=0.5)
