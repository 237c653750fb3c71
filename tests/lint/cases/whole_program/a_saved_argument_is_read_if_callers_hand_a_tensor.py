import torch


class Files:
    def keep(self, value):
        torch.save(value, self.buffer)  # clean

    def dump(self, value):
        torch.save(value, self.buffer)  # ASG103


def fit(model, loader, optimizer, files: Files):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        files.keep(x is None)
        files.dump(loss)


def finish(model, files: Files):
    files.keep(model.state_dict())
