import torch


class Resample(torch.nn.Module):
    def forward(self, x):
        return x @ self.inverse(x.shape[-1], x)

    def inverse(self, size, x):
        matrix = self.kept.get(size)
        if matrix is not None:
            return matrix
        matrix = torch.linalg.pinv(x)  # clean
        self.kept[size] = matrix
        return matrix


class Resample2(torch.nn.Module):
    def forward(self, x):
        return x @ self.inverse(x.shape[-1], x)

    def inverse(self, size, x):
        if (matrix := self.kept.get(size)) is not None:
            return matrix
        matrix = torch.linalg.pinv(x)  # clean
        self.kept[size] = matrix
        return matrix


class Resample3(torch.nn.Module):
    def forward(self, x, given):
        return x @ self.inverse(x.shape[-1], x, given)

    def inverse(self, size, x, given):
        matrix = given.get(size)
        if matrix is not None:
            return matrix
        return torch.linalg.pinv(x)  # ASG104
