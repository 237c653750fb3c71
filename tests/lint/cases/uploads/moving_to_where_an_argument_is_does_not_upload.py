import torch


class Heads(torch.nn.Module):
    def forward(self, x, mask, ref, model):
        place = ref.device
        mask = mask.to(ref.device)  # clean
        x = x.to(place)  # clean
        return model(x) * mask


def fit(model, loader, optimizer, args, accelerator):
    for x, y in loader:
        x = x.to(args.device)  # ASG106
        y = y.to(accelerator.device)  # ASG106
        loss = model(x, y)
        loss.backward()
        optimizer.step()
