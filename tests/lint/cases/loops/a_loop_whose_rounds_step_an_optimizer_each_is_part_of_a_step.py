import torch


class Agents:
    def update(self, sample):
        for key in self.keys:
            loss = self.policy(sample[key]).mean()
            loss.backward()
            self.optimizers[key].step()
        return loss.item()  # ASG102

    def update_all(self, sample):
        for optimizer in self.all_of_them:
            loss = self.policy(sample).mean()
            loss.backward()
            optimizer.step()
        return loss.item()  # ASG102

    def fit(self, batches):
        for i, batch in enumerate(batches):
            loss = self.policy(batch).mean()
            loss.backward()
            self.optimizers[i % 2].step()
        return loss.item()  # clean

    def fit_loader(self, loader: torch.utils.data.DataLoader):
        for i, batch in enumerate(loader):
            loss = self.policy(batch).mean()
            loss.backward()
            self.optimizers[i].step()
        return loss.item()  # clean
