# tests/sim/test_regions.py runs each function on the simulated device: the capture fails if a line
# of it is marked.

import torch


def item(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x * x.max().item()  # ASG501 none


def branch(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        if x.sum() > 0:  # ASG501 none
            x = x * 2
    return x


def printed(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        print(x.sum())  # ASG501 none


def to_host(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x.sum().cpu()  # ASG501 none


def mask(x: torch.Tensor):  # pytorch#78549
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x[x > 0].sum()  # ASG501 none


def nonzero(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return torch.nonzero(x)  # ASG501 none


def barrier(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x * 2
        torch.cuda.synchronize()  # ASG501 none
    return y


def of_stream(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x * 2
        torch.cuda.current_stream().synchronize()  # ASG501 none
    return y


def constant(x: torch.Tensor):  # "Cannot copy between CPU and CUDA tensors during CUDA graph capture"
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x + torch.tensor([3.0, 1.0, 2.0, 4.0], device="cuda")  # ASG501 none


def uploaded(x: torch.Tensor):
    table = torch.arange(4.0)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x + table.to("cuda")  # ASG501 none


def asserted(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        assert x.sum() > -100  # ASG501 none
        return x * 2


def _checked(x):
    if x.isnan().any():  # ASG501 none
        raise ValueError("NaN")
    return x


def helper(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return _checked(x * 2)


def between(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        y = x * 2
        if y.sum() > 0:  # ASG501 none
            y = y + 1
        graph.capture_end()
    return y


class _Layer(torch.nn.Module):
    def forward(self, x):
        return x * (x.sum() > 0).item()  # ASG501


def callable_of(x: torch.Tensor):
    return torch.cuda.make_graphed_callables(_Layer(), (x,))


def behind(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    graph.replay()
    return y.sum().item()


def before(x: torch.Tensor):
    table = torch.arange(4.0).to("cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x + table


def ended(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        y = x * 2
        graph.capture_end()
        graph.replay()
        torch.cuda.synchronize()
    return y


def chosen(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return torch.where(x.sum() > 0, x, -x)


def made_there(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x + torch.arange(4.0, device="cuda")


def filled(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x.masked_fill(x > 0, 0.0)


def moved_already(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x.cuda() * 2


def guarded(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        if not torch.cuda.is_current_stream_capturing():
            print(x.sum())
        return x * 2


def else_branch(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        if torch.cuda.is_current_stream_capturing():
            y = x * 2
        else:
            y = x * x.max().item()
        return y


def by_shape(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x * 2 if x.shape[0] > 2 else x


def stream_waits(x: torch.Tensor):
    side = torch.cuda.Stream()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            y = x * 2
        here.wait_stream(side)
    return y


def counted_in_place(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x += 1
    return x
