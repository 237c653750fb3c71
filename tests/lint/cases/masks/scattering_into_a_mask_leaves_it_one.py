import torch


def unmask(net, ids, mask_id):
    net = net.cuda()
    ids = ids.cuda()
    for _ in range(100):
        masked = ids == mask_id
        score, proposal = net(ids).max(-1)
        top = score.topk(4, dim=1).indices
        chosen = torch.zeros_like(masked).scatter(1, top, True)
        ids[chosen] = proposal[chosen]  # ASG105, ASG105
        rows = torch.zeros_like(top).scatter(1, top, 1)
        proposal[rows].sum()  # clean: indices
