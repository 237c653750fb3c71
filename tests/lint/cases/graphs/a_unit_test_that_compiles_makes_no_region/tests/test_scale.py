import torch
from scale import scaled


def test_scaled_breaks_the_graph():
    fast = torch.compile(scaled)
    assert fast(torch.ones(4, device="cuda")).sum() > 0


def test_capture():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        scaled(torch.ones(4, device="cuda"))
