# clean
import tilelang
import tilelang.language as T
import torch
import triton
import triton.language as tl


@triton.jit
def forward_scale(x: torch.Tensor, n, BLOCK: tl.constexpr):
    for step in range(n):
        start = x[step]
        if start > 0:
            tl.store(x[start : start + BLOCK], 1)


@tilelang.jit
def product(size, dtype):
    @T.prim_func
    def forward(lens: T.Tensor([size], T.int32), x: T.Tensor([size], dtype)):
        with T.Kernel(size) as i:
            start = lens[i].max()
            for step in T.Pipelined(size):
                if start > step:
                    T.copy(x[start : start + size], x)

    return forward


def train(model, loader, optimizer):
    for x in loader:
        x = x.cuda(non_blocking=True)
        forward_scale[(8,)](x, 8, BLOCK=8)
        loss = product(8, "float32")(x, model(x)).sum()
        loss.backward()
        optimizer.step()
