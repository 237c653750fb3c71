import torch


def train(model, loader, optimizer, use_cuda):
    held = torch.FloatTensor(1)
    if use_cuda:
        held = held.cuda()  # clean
    for x, y in loader:
        held.data.resize_(x.size()).copy_(x)  # ASG106
        held.data.copy_(x, non_blocking=True)
        model.host_io.ids.copy_(x)
        loss = model(held)
        loss.backward()
        optimizer.step()
