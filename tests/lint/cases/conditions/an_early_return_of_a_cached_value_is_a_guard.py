import torch


class Model(torch.nn.Module):
    def forward(self, x, key):
        return x * self.size(x, key)

    def size(self, x, key):
        if key in self.kept:
            return self.kept[key]
        size = x.max().item()  # clean
        self.kept[key] = size
        return size


class Model2(torch.nn.Module):
    def forward(self, x, key):
        return x * self.size(x, key)  # clean

    def size(self, x, key):
        if key in self.kept:
            return key
        size = x.max().item()  # ASG102
        self.kept[key] = size
        return size


class Model3(torch.nn.Module):
    def forward(self, x, key):
        return x * self.size(x, key)  # clean

    def size(self, x, key):
        if key not in self.kept:
            return self.kept[key]
        size = x.max().item()  # ASG102
        self.kept[key] = size
        return size
