import torch


def note(log, batch, count):
    log["rows"] = torch.tensor(batch, device="cuda").sum()  # ASG106
    log["count"] = count


def train(model, loader, opt):
    for batch in loader:
        log = {}
        loss = model(batch).sum()
        loss.backward()
        opt.step()
        note(log, batch, 3)
        print(float(log["rows"]))  # ASG102
        print(float(log["count"]))  # clean
