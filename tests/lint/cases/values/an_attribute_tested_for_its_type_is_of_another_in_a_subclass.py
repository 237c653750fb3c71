import torch


class Layer:
    def reset(self):
        if hasattr(self, "length"):
            if isinstance(self.length, int):
                self.length = 0
            else:
                self.length.zero_()


class Dynamic(Layer):
    def __init__(self, window):
        self.window = window
        self.length = 0

    def update(self, key_states: torch.Tensor):
        self.length += key_states.shape[-2]

    def get_mask_sizes(self, n):
        is_full = self.length >= self.window
        offset = max(self.length - self.window + 1, 0)  # clean
        if is_full:  # clean
            return self.window, offset
        return n, offset

    def get_seq_length(self):
        return self.length

    def crop(self, max_length):
        if max_length < 0:
            max_length = self.get_seq_length() + max_length
        self.length = self.length - max_length


class Static(Layer):
    def __init__(self):
        self.length = torch.tensor(0)

    def grow(self, key_states: torch.Tensor):
        self.length = self.length.to(key_states.device)
        self.seen = key_states.sum()
        if self.seen > 3:  # ASG104
            self.length = self.length + 1


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.static = Static()

    def forward(self, x, cache: Dynamic):
        cache.update(x)
        self.static.grow(x)
        n = cache.get_mask_sizes(3)
        return x
