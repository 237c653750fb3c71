import torch


class Net(torch.nn.Module):
    def training_step(self, batch):
        self.record()

    def record(self):
        return self.weight.mean().cpu()  # ASG103


class Net2(torch.nn.Module):
    def training_step(self, batch):
        self.save_image()

    def save_image(self):
        return self.weight.mean().cpu()  # clean


class Net3(torch.nn.Module):
    def training_step(self, batch):
        self.plot()

    def plot(self):
        return self.weight.mean().cpu()  # clean


class Net4(torch.nn.Module):
    def training_step(self, batch):
        self._save_checkpoint()

    def _save_checkpoint(self):
        return self.weight.mean().cpu()  # clean


class Net5(torch.nn.Module):
    def training_step(self, batch):
        self.load_state_dict()

    def load_state_dict(self):
        return self.weight.mean().cpu()  # clean
