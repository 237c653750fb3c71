import torch


def decode(model, choose, ids, eos):
    ids = ids.cuda()
    for _ in range(100):
        token = choose(model(ids))
        ids = torch.cat((ids, token[:, None]), dim=1)
        if token[0] == eos:  # ASG104
            break
    return ids


def draft(model, helper, ids, eos, count):
    ids = ids.cuda()
    while ids.shape[1] < count:
        tokens, scores = helper.propose(ids)
        ids = torch.cat([ids, tokens], dim=1)
        model(ids).argmax(-1)
        if eos in tokens[0, :4]:  # ASG104
            break
    return ids


def pad(model, helper, ids, count):
    ids = ids.cuda()
    while ids.shape[1] < count:
        sizes = helper.sizes(ids)
        rows = helper.rows(ids)
        ids = torch.cat([model(ids), rows[0]], dim=1)
        if sizes[0] == 3:  # clean
            break
        if rows[0] == 3:  # clean
            break
    return ids


def on_the_host(helper, host):
    host = torch.zeros(3)
    for _ in range(100):
        token = helper.choose(host)
        host = torch.cat((host, token[:, None]), dim=1)
        if token[0] == 1:  # clean
            break
    return host
