import torch


class Head(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)

    def loss_by_feat(self, scores: torch.Tensor, labels: torch.Tensor):
        total = 0
        for level in range(3):
            total = total + scores[level][labels >= 0].sum()  # ASG105
        return total


class Head2(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)

    def _loss_single(self, scores: torch.Tensor, labels: torch.Tensor):
        total = 0
        for level in range(3):
            total = total + scores[level][labels >= 0].sum()  # ASG105
        return total


class Head3(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)

    def loss_name_of(self, scores: torch.Tensor, labels: torch.Tensor):
        total = 0
        for level in range(3):
            total = total + scores[level][labels >= 0].sum()  # clean
        return total


class Head4(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)

    def plot_loss(self, scores: torch.Tensor, labels: torch.Tensor):
        total = 0
        for level in range(3):
            total = total + scores[level][labels >= 0].sum()  # clean
        return total
