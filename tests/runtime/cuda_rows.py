"""What waits for a CUDA device in torch, call by call: the catalogue's claims, to be asked of one.

Each row is an expression over the names of `values`. `tests/runtime/test_cuda.py` requires them of
a real device, `benchmarks/cuda_check.py` prints what one says.

An NVIDIA H200 was asked on 2026-11-27 (torch 2.11.0+cu130, CUDA 13.0): all 253 agree. Of the first
207, which were read in torch's sources, 187 had. No other device or version has been asked. Since
then came the tables on the host, and an upload of 64 KiB in the place of one of 1 MiB, which did
not hold the host (see `adapters.torch.transfers`): these have not been asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One call: the entry that counts it, how often, and what torch's GPU trace should tell.

    counted: the catalogue's id; "" where nothing is counted, be there a wait or none.
    fires:   how often the trace's callbacks are called, and the entry counts.
    least:   they are called as often as that or more, depending on the data.
    hidden:  the call holds the host where the trace cannot see it; it counts once.
    depth:   what it takes to see it: "full" for calls that programs make too often to hook.
    """

    call: str
    counted: str = ""
    fires: int = 0
    hidden: bool = False
    depth: str = "light"
    least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the host is held."""
        return self.hidden or self.fires > 0

    @property
    def counts(self) -> dict[str, int]:
        """API -> how often it is counted."""
        return {self.counted: self.fires or 1} if self.counted else {}

    def is_told(self, fires: int) -> bool:
        """Whether so many callbacks are what is to be expected."""
        return is_told(fires, self.fires, self.least)


def is_told(fires: int, expected: int, least: bool = False) -> bool:
    """Whether torch's trace called back as often as expected; `least`: or more often."""
    return fires >= expected if least else fires == expected


def values(
    torch: Any, place: Callable[[Any], Any], pin: Callable[[Any], Any], call: str = ""
) -> dict[str, Any]:
    """What the rows' expressions are made of, or one of them.

    `place` brings a tensor to the device, `pin` one into page-locked memory.
    """
    host = torch.arange(64.0)
    x = place(host)
    makers: dict[str, Callable[[], Any]] = {
        "torch": lambda: torch,
        "F": lambda: torch.nn.functional,
        "L": lambda: torch.linalg,
        "x": lambda: x,
        "big": lambda: torch.ones(1 << 20),  # in pageable memory, 4 MiB
        "room": lambda: place(torch.empty(1 << 20)),
        "A": lambda: place(torch.eye(8) + 0.1),
        "mask": lambda: x > 3,
        "host_mask": lambda: host > 3,
        "index": lambda: x.long(),
        "host_index": lambda: host.long(),
        "k": lambda: x[2].long(),  # a scalar on the device
        "f": lambda: x[1].clone(),
        "w": lambda: place(torch.ones(8)),
        "one": lambda: torch.ones(1),  # of the host's
        "pinned": lambda: pin(torch.empty(64)),
        "buffer": lambda: torch.empty(64),
        "encoder": lambda: _encoder(torch, x.is_cuda),
        "tokens": lambda: place(torch.ones(2, 3, 8)),
        "padding": lambda: place(torch.zeros(2, 3, dtype=torch.bool)),
    }
    words = re.findall(r"\w+", call)
    return {name: make() for name, make in makers.items() if not call or name in words}


def _encoder(torch: Any, on_cuda: bool) -> Any:
    """One that asks in evaluation whether its mask is left-aligned."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 1).to("cuda" if on_cuda else "cpu").eval()


_ITEM, _MASK = "torch.Tensor.item", "torch.Tensor.__getitem__.mask"
_NESTED = "torch._nested_tensor_from_mask_left_aligned"
_CTC = "torch.nn.functional.ctc_loss"
_WRITE, _PICK = "torch.Tensor.__setitem__.mask", "torch.Tensor.__getitem__.scalar"

SIZES = (
    "zeros(k)", "ones(k)", "empty(k)", "rand(k)", "randn(k)", "randint(0, k, (3,))", "randperm(k)",
)  # fmt: skip
VIEWS = (
    "x.view(k, -1)", "x.reshape(k, -1)", "x[:1].expand(k)", "x.tile(k)", "x.unflatten(0, (k, -1))",
    "x.as_strided((k,), (1,))", "x.split(k)", "x.roll(k)", "x.select(0, k)", "A.tril(k)",
)  # fmt: skip
NUMBERS = (
    "x.repeat(k)", "x.topk(k)", "x.kthvalue(k)", "x.new_zeros(k)", "x.new_full((2,), f)",
    "x.multinomial(k)",
)  # fmt: skip
FUNCTIONS_OF_NUMBERS = (
    "torch.topk(x, k)", "torch.kthvalue(x, k)", "torch.narrow(x, 0, k, 1)", "torch.select(x, 0, k)",
    "torch.full_like(x, f)", "torch.multinomial(x, k)",
)  # fmt: skip
LAYOUTS = (
    "torch.reshape(x, (k, -1))", "torch.tile(x, (k,))", "torch.roll(x, k)", "torch.split(x, k)",
    "torch.tril(A, k)", "torch.unflatten(x, 0, (k, -1))", "torch.as_strided(x, (k,), (1,))",
    "torch.fft.fft(x, n=k)", "F.pad(x, (0, k))", "F.adaptive_avg_pool1d(x[None], k)",
)  # fmt: skip
FACTORS = (
    "torch.add(x, x, alpha=f)", "torch.sub(x, x, alpha=f)", "torch.addmm(A, A, A, beta=f)",
    "torch.addcmul(x, x, x, value=f)", "torch.addcdiv(x, x, x, value=f)",
)  # fmt: skip
OWN_FACTORS = (
    "x.add(x, alpha=f)", "x.sub(x, alpha=f)", "A.addmm(A, A, alpha=f)", "x.addcmul(x, x, value=f)",
    "x.addcdiv(x, x, value=f)", "x.norm(p=f)",
)  # fmt: skip
OFTEN = (
    "x.add_(x, alpha=f)", "x.sub_(x, alpha=f)", "A.addmm_(A, A, beta=f)",
    "x.addcmul_(x, x, value=f)", "x.addcdiv_(x, x, value=f)", "torch.sum(A, dim=k - 1)",
    "F.leaky_relu(x, f)", "F.elu(x, f)", "F.softplus(x, f)", "torch.norm(x, p=f)", "x.norm(f)",
    "torch.dist(x, x, f)",
)  # fmt: skip
ON_THE_DEVICE = (
    "x.clamp(min=f).pow(f)", "torch.where(mask, x, f)", "x.lerp(x, f)", "x.fill_(f)",
    "x.bernoulli_(f / 9)", "x.add_(f)",
)  # fmt: skip

ROWS = (
    # reads
    Row("x.sum().item()", _ITEM, 1),
    Row("x.tolist()", "torch.Tensor.tolist", 1),
    Row("x.cpu()", "torch.Tensor.cpu", 1),
    Row("x.to('cpu')", "torch.Tensor.to.cpu", 1),
    Row("x.to('cpu', torch.float32, True)"),
    Row("bool(x.sum() > 0)", "torch.Tensor.__bool__", 1),
    Row("float(x.sum())", "torch.Tensor.__float__", 1),
    Row("int(x.sum())", "torch.Tensor.__int__", 1),
    Row("repr(x)", "torch.Tensor.__repr__", 1, least=True),
    Row("f'{x.sum():.3f}'", "torch.Tensor.__format__", 1),
    Row("torch.is_nonzero(x.sum())", "torch.is_nonzero", 1),
    Row("range(x.argmin())", "torch.Tensor.__index__", 1),
    Row("3.0 in x", "torch.Tensor.__contains__", 1),
    Row("torch.equal(x, x.clone())", "torch.equal", 1),
    Row("torch.allclose(x, x.clone())", "torch.allclose", 1),
    Row("torch.tensor([x[0], x[1]])", "torch.tensor.elements", 2),
    Row("x.untyped_storage().cpu()", "torch.UntypedStorage.tolist", 1),
    Row("buffer.copy_(x)", "torch.Tensor.copy_.to_host", 1),
    Row("buffer.copy_(x, non_blocking=True)", "torch.Tensor.copy_.to_host", 0, hidden=True),
    Row("pinned.copy_(x, True)"),
    # uploads
    Row("torch.tensor([1.0], device='cuda')", "torch.tensor", 1),
    Row("big.to('cuda')", "torch.Tensor.to.device", 1),
    Row("pinned.to('cuda', non_blocking=True)"),
    Row("pinned.cuda(0, True)"),
    Row("big.to('cuda', non_blocking=True)", "torch.Tensor.to.device", 0, hidden=True),
    Row("big[: 1 << 14].to('cuda', non_blocking=True)"),
    Row("room.copy_(big, non_blocking=True)", "torch.Tensor.copy_.to_device", 0, hidden=True),
    Row("big.untyped_storage().cuda()", "torch.UntypedStorage.to", 1),
    Row("big.untyped_storage().to(device='cuda')", "torch.UntypedStorage.to", 1),
    Row("x.untyped_storage().cuda()"),
    Row("x.__setitem__(slice(0, 2), torch.ones(2))", "torch.Tensor.__setitem__.upload", 1),
    # subscripts
    Row("x[mask]", _MASK, 1),
    Row("x[host_mask]"),
    Row("x[0]"),
    Row("x[index]"),
    Row("x[host_index]", "torch.Tensor.__getitem__.upload", 1),
    Row("x[[0, 2]]", "torch.Tensor.__getitem__.upload", 1),
    Row("x[[True, False] * 32]", "torch.Tensor.__getitem__.upload", 2),
    Row("A[host_index[:8], host_index[:8]]", "torch.Tensor.__getitem__.upload", 2),
    Row("A[[0, 2], [1, 3]]", "torch.Tensor.__getitem__.upload", 2),
    Row("A[[0, 2], index[:2]]", "torch.Tensor.__getitem__.upload", 1),
    Row("x[k]", _PICK, 1),
    Row("x[torch.tensor(2)]"),
    Row("buffer[k]", _PICK, 1),
    Row("buffer.view(8, 8)[k, host_index[0]]", _PICK, 1),
    Row("A[k, k]", _PICK, 2),
    Row("A[k, :k]", _PICK, 2),
    Row("x[:k]", "torch.Tensor.__index__", 1),
    Row("x[k:index[5]]", "torch.Tensor.__index__", 2),
    Row("x.__setitem__(mask, 1.0)"),
    Row("x.__setitem__(host_mask, 1.0)", "torch.Tensor.__setitem__.scalar", 1),
    Row("x.__setitem__(index, 0)", "torch.Tensor.__setitem__.scalar", 1),
    Row("x.__setitem__([0, 2], 0)", "torch.Tensor.__setitem__.scalar", 2),
    Row("x.__setitem__(host_index, 0)", "torch.Tensor.__setitem__.scalar", 2),
    Row("x.__setitem__(index[:1], f)"),
    Row("x.__setitem__(k, 1.0)", "torch.Tensor.__setitem__.index", 2),
    Row("A.__setitem__(k, 1.0)", "torch.Tensor.__setitem__.index", 1),
    Row("A.__setitem__((k, k), 1.0)", "torch.Tensor.__setitem__.index", 3),
    Row("x.__setitem__(0, 1.0)", "torch.Tensor.__setitem__.number", 1),
    Row("x.__setitem__(0, True)", "torch.Tensor.__setitem__.number", 1),
    Row("x.__setitem__(0, torch.tensor(1.0))", "torch.Tensor.__setitem__.number", 1),
    Row("A.__setitem__((0, 0), 1.0)", "torch.Tensor.__setitem__.number", 1),
    Row("A.__setitem__(0, 1.0)"),
    Row("A.__setitem__(0, torch.tensor(1.0))"),
    Row("x.__setitem__(slice(0, 2), 1.0)"),
    Row("x.__setitem__(slice(0, 1), torch.tensor(1.0))"),
    Row("x.__setitem__(0, f)"),
    Row("x[0].fill_(1.0)"),
    Row("x.__setitem__(host_mask, x[4:].clone())"),
    Row("x.__setitem__(k, f)", "torch.Tensor.__setitem__.index", 1),
    Row("x.index_put_((mask,), x[:1].clone())", _WRITE, 1),
    Row("x.index_put_((mask,), f)", _WRITE, 1),
    Row("x.index_put((mask,), one)"),
    Row("x.index_put_((index,), x.clone(), accumulate=True)"),
    # shapes that depend on data
    Row("x.nonzero()", "torch.nonzero", 1),
    Row("x.masked_select(mask)", "torch.masked_select", 1),
    Row("torch.unique(x)", "torch.unique", 1),
    Row("torch.unique(A, dim=0)", "torch.unique", 0, hidden=True),
    Row("torch.where(mask)", "torch.where", 1),
    Row("torch.where(mask, x, -x)"),
    Row("torch.unique_consecutive(x)", "torch.unique_consecutive", 1),
    Row("torch.unique_consecutive(A, dim=0)", "torch.unique_consecutive", 0, hidden=True),
    Row("torch.bincount(index)", "torch.bincount", 2),
    Row("torch.repeat_interleave(x, index)", "torch.repeat_interleave", 2),
    Row("F.one_hot(index)", "torch.nn.functional.one_hot", 1),
    Row("F.one_hot(index, num_classes=64)"),
    Row("torch.combinations(x[:4])", "torch.combinations", 2),
    Row("torch.combinations(x[:4], 3)", "torch.combinations", 3),
    Row("torch.histc(x, 8)", "torch.histc", 2),
    Row("torch.histc(x, 8, 0, 64)"),
    Row("torch.histc(x, 8, 1, 1)", "torch.histc", 2),
    Row("x.histc(8)", "torch.Tensor.histc", 2),
    Row("A.to_sparse()", "torch.Tensor.to_sparse", 1),
    Row("A.to_sparse_coo()", "torch.Tensor.to_sparse", 1),
    Row("A.to_sparse_csr()", "torch.Tensor.to_sparse", 2),
    Row("A.to_sparse_csc()", "torch.Tensor.to_sparse", 2),
    Row("A.to_sparse_bsr((2, 2))", "torch.Tensor.to_sparse", 2),
    Row("A.to_sparse_bsc((2, 2))", "torch.Tensor.to_sparse", 2),
    Row("torch.sparse_coo_tensor(index[None], x, (64,))"),
    Row("torch.sparse_coo_tensor(index[None], x)", "torch.sparse_coo_tensor", 2),
    Row("torch.isin(x, x)", "torch.isin", 3),
    Row("torch.isin(x, x[:4].clone())"),
    Row("torch.isin(x, 3.0)"),
    # Not counted: from which length on it waits, and how often for several rows, was not asked.
    Row("torch.mode(x.repeat(99))", "", 1),
    Row("torch.mode(x)"),
    Row("torch.mode(A, 0)"),
    # a number that is a device value
    *(Row(f"torch.{call}", "torch.zeros", 1) for call in SIZES),
    Row("torch.zeros((k, k))", "torch.zeros", 2),
    Row("torch.arange(k)", "torch.arange", 1),
    Row("torch.linspace(0, 1, k)", "torch.arange", 1),
    Row("torch.full((2,), f)", "torch.arange", 1),
    Row("torch.full((k,), f)", "torch.arange", 2),
    Row("torch.eye(k)", "torch.arange", 1),
    *(Row(call, "torch.Tensor.view", 1) for call in VIEWS),
    Row("x[:4].view(k, k)", "torch.Tensor.view", 2),
    *(Row(call, "torch.Tensor.topk", 1) for call in NUMBERS),
    *(Row(call, "torch.topk", 1) for call in FUNCTIONS_OF_NUMBERS),
    Row("x.narrow(0, k, 1)", "torch.Tensor.narrow", 1),
    Row("x.narrow(0, 0, k)", "torch.Tensor.narrow", 1),
    *(Row(call, "torch.reshape", 1) for call in LAYOUTS),
    Row("torch.quantize_per_tensor(x, f, k, torch.qint8)", "torch.reshape", 2),
    Row("F.one_hot(index % 2, num_classes=k)", "torch.nn.functional.one_hot.classes", 1),
    *(Row(call, "torch.add", 1) for call in FACTORS),
    *(Row(call, "torch.Tensor.add", 1) for call in OWN_FACTORS),
    Row("torch.addmm(A, A, A, beta=f, alpha=f)", "torch.add", 2),
    Row("torch._foreach_lerp_([x.clone()], [x], f)", "torch._foreach_lerp_", 1),
    Row("torch._foreach_add_([x.clone()], [x], alpha=f)", "torch._foreach_lerp_", 1),
    Row("torch._foreach_lerp_([x.clone()], [x], [x.clone()])"),
    Row("torch._foreach_mul_([x.clone()], f)"),
    Row("torch.masked_fill(x, mask, f)", "torch.masked_fill", 1),
    Row("x.masked_fill(mask, f)", "torch.Tensor.masked_fill", 1),
    Row("x.masked_fill_(mask, f)", "torch.Tensor.masked_fill", 1),
    Row("torch.index_fill(x, 0, index[:1], f)", "torch.index_fill", 1),
    Row("x.index_fill(0, index[:1], f)", "torch.Tensor.index_fill", 1),
    Row("x.index_fill_(0, index[:1], f)", "torch.Tensor.index_fill", 1),
    *(Row(call, _ITEM, 1, depth="full") for call in OFTEN),
    Row("F.threshold(x, f, f)", _ITEM, 2, depth="full"),
    *(Row(call) for call in ON_THE_DEVICE),
    # checks
    Row("torch.nanmedian(x)"),
    Row("x.nanmedian()"),
    Row("x.nanmedian(0)"),
    Row("torch.normal(0.0, x + 1)", "torch.normal", 2),
    Row("torch.normal(x, x + 1)", "torch.normal", 2),
    Row("torch.normal(x, 1.0)"),
    Row("torch.cov(A)", "torch.cov", 1),
    Row("A.inverse()", "torch.linalg.inv", 1),
    Row("L.inv_ex(A)"),
    Row("L.inv_ex(A, check_errors=True)", "torch.linalg.inv_ex", 1),
    Row("L.solve_ex(A, A, check_errors=True)", "torch.linalg.inv_ex", 1),
    Row("L.cholesky_ex(A @ A.mT, check_errors=True)", "torch.linalg.inv_ex", 1),
    Row("L.lu_factor_ex(A, check_errors=True)", "torch.linalg.inv_ex", 1),
    Row("L.ldl_factor_ex(A, check_errors=True)", "torch.linalg.inv_ex", 1),
    Row("L.lstsq(A, A)", "torch.linalg.inv", 1),
    Row("encoder(tokens, src_key_padding_mask=padding)", _NESTED, 1),
    Row("L.cholesky(A @ A.mT)", "torch.linalg.inv", 1),
    Row("L.svd(A)", "torch.linalg.svd", 2),
    Row("L.svd(A, driver='gesvd')", "torch.linalg.svd", 1),
    Row("L.svd(A, driver='gesvdj')", "torch.linalg.svd", 2),
    Row("L.svdvals(A)", "torch.linalg.svd", 2),
    Row("L.matrix_rank(A)", "torch.linalg.svd", 2),
    Row("L.pinv(A)", "torch.linalg.svd", 2),
    Row("L.eigh(A)", "torch.linalg.svd", 1),
    Row("L.eigvals(A)", "torch.linalg.svd", 2),
    Row("L.eig(A)", "torch.linalg.svd", 3),
    Row("L.cond(A)", "torch.linalg.svd", 2),
    Row("L.cond(A, 1)"),
    Row("L.matrix_norm(A, 2)", "torch.linalg.norm", 2),
    Row("L.matrix_norm(A)"),
    Row("L.matrix_norm(A, -2)", "torch.linalg.norm", 2),
    Row("L.matrix_norm(A, 'nuc')", "torch.linalg.norm", 2),
    Row("L.norm(A, 2)", "torch.linalg.norm", 2),
    Row("L.norm(A, 'nuc')", "torch.linalg.norm", 2),
    Row("torch.norm(A, p='nuc')", "torch.norm.nuclear", 2),
    Row("torch.cholesky_inverse(A)"),
    Row("torch.lu(A)"),
    Row("torch.svd_lowrank(A)", "torch.linalg.svd", 2),
    Row("torch.pca_lowrank(A, 2)", "torch.linalg.svd", 2),
    Row("torch.lobpcg(A @ A.mT)", "torch.linalg.svd", 1, least=True),
    Row(
        "torch.istft(torch.stft(x, 8, window=w, return_complex=True), 8, window=w)",
        "torch.istft",
        1,
    ),
    Row("L.matrix_power(A, -1)", "torch.linalg.matrix_power", 1),
    Row("torch.matrix_exp(A)", "torch.matrix_exp", 1, least=True),
    Row("L.det(A)"),
    Row("F.ctc_loss(A[:, None], index[None, 1:2], (8,), (1,))", _CTC, 5),
    Row("F.ctc_loss(A[:, None], index[1:2], (8,), (1,))", _CTC, 5),
    Row("F.ctc_loss(A[:, None], host_index[None, 1:2], (8,), (1,))", _CTC, 5),
    Row("F.ctc_loss(A[:, None], host_index[1:2].int(), (8,), (1,))", _CTC, 1),  # cuDNN's
    Row("F.ctc_loss(A[:, None], index[None, 1:2], index[8:9], index[1:2])", _CTC, 8),
    Row("F.embedding(index, x[:, None].clone(), max_norm=1.0)"),
    # none, and explicit ones
    Row("(x * 2 + 1).sum()"),
    Row("torch.isnan(x).any()"),
    Row("torch.stack([x[0], x[1]])"),
    Row("torch.zeros(8, device='cuda')"),
    Row("torch.cuda.synchronize()", "torch.cuda.synchronize", 1),
    Row("torch.cuda.current_stream().synchronize()", "torch.cuda.Stream.synchronize", 1),
    Row(
        "torch.cuda.current_stream().record_event().synchronize()",
        "torch.cuda.Event.synchronize",
        1,
    ),
    Row("torch.accelerator.current_stream().synchronize()", "", 1),  # cannot be hooked
)
