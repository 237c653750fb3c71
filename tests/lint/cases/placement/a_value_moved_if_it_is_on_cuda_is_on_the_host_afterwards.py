import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.is_cuda:
            x = x.cpu()  # ASG103
        return x.tolist()


class Model2(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.device != "cpu":
            x = x.cpu()  # ASG103
        return x.tolist()


class Model3(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.device.type == "cuda":
            x = x.cpu()  # ASG103
        return x.tolist()


class Model4(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.device.type == "cpu":
            x = x.cpu()  # clean
        return x.tolist()  # ASG102


class Model5(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if x.device != self.where:
            x = x.cpu()  # ASG103
        return x.tolist()  # ASG102
