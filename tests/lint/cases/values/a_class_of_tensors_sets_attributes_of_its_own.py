import torch


class Scaled(torch.Tensor):
    def __new__(cls, data, scale, swizzled):
        self = torch.Tensor._make_wrapper_subclass(cls, data.size(), dtype=data.dtype)
        self._data = data
        self.swizzled = swizzled
        return self


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: Scaled, z: torch.Tensor):
        if isinstance(x, Scaled):
            if not x.swizzled:  # clean
                x = x * 2
            if x.sum() > 3:  # ASG104
                x = x * 3
        if y.swizzled:  # clean
            y = y * 2
        if z.swizzled:  # ASG104
            z = z * 2
        return x + y + z
