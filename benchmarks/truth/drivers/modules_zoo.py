"""The public layers, losses and functions of a package, made and fed by what parameters are called.

A class of `torch.nn.Module` is made with the small values that `GIVEN` has for its required
parameters; then it, or a function, is tried on one sample input after the other. The first that it
takes on the CPU is the case's.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from asyncguard.sim.places import tensors_in

B, C, S, N, D, W = 2, 3, 32, 8, 16, 50  # batch, channels, side, steps, features, words
GIVEN: tuple[tuple[str, Any], ...] = (  # by what a parameter is called, the first that fits
    (r"^(image_size|img_size|frame_size|size|output_size|resolution|shape)$", S),
    (r"^(image_patch_size|patch_size|frame_patch_size|window_size|ksize)$", 4),
    (r"(^|_)kernel(_size)?$", 3),
    (r"^(frames|num_frames)$", 4),
    (r"^(in_channels|channels|in_chans|num_channels|input_channels|in_channel|inp)$", C),
    (r"^(num_classes|n_classes|classes|num_labels|n_class)$", 4),
    (r"(^|_)(depth|num_layers|n_layers|layers|num_blocks)$", 2),
    (r"^(heads|num_heads|n_heads|nhead|num_attention_heads)$", 4),
    (r"^(dim_head|head_dim)$", 8),
    (r"^(num_tokens|vocab_size|num_embeddings|n_vocab|vocab)$", W),
    (r"^(max_seq_len|seq_len|max_len|num_patches|length|max_length|num_nodes)$", N),
    (r"^(p|dropout|drop|prob|rate|alpha|beta|gamma|eps|margin|sigma|temperature|scale)$", 0.5),
    (r"^(degrees|angle)$", 10.0),
    (r"^(mean|std)$", 0.5),
    (r"^(groups|num_groups|stride|padding|dilation|k|iterations|order|level)$", 1),
    (r"(mlp_dim|hidden_dim|hidden_channels|hidden_size|ff_dim|dim_feedforward|inner_dim)$", 32),
    (r"(dim|features|size|channels|width|embed|units|d_model|out_dim|num_features)$", D),
    (r"^dim_", D),
    (r"^(fn|net|encoder|model|module|layer|activation|act)$", torch.nn.Identity),
    (r"^(n_fft|win_length)$", 64),
    (r"^(hop_length)$", 16),
    (r"^(n_freqs|n_stft)$", 33),
    (r"^(n_mels|n_mfcc|n_filter)$", 8),
    (r"^(num_|n_)", 2),
    (r"(sample_rate|_freq)$", 8000),
    (r"(frequency|cutoff_freq|central_freq|center_freq)$", 400.0),
)
PLAIN: dict[str, Any] = {  # by what type it is said to have
    "int": 2, "float": 0.5, "bool": False, "tuple[int, int]": (S, S), "Tuple[int, int]": (S, S),
    "tuple[int, int, int]": (4, S, S), "tuple[float, float]": (0.5, 0.5),
    "Tuple[float, float]": (0.5, 0.5), "int | None": 2, "Optional[int]": 2,
    "tuple[int, int] | int": 3, "float | int": 0.5, "Union[int, float]": 0.5,
}  # fmt: skip


def cases(
    *,
    modules: list[str],
    walk: bool = False,
    functions: bool = False,
    given: dict[str, Any] | None = None,
    tensors: int = 1,
    without: list[str] | None = None,
    last: int | None = None,
) -> dict[str, Any]:
    """A case for each public class, and each other function, that a module defines or hands on.

    A layer is fed as many tensors as its forward pass requires, and at least `tensors`. With
    `last`, of a module only so many classes are taken: the last, which are made of those before.
    """
    found: dict[str, Any] = {}
    known: set[int] = set()
    for module in _imported(modules, walk):
        package = module.__name__.partition(".")[0]
        for name, thing in _things(module, last):
            full = f"{module.__name__}.{name}"
            if name.startswith("_") or id(thing) in known or full in (without or ()):
                continue
            if not str(getattr(thing, "__module__", "")).startswith(package):
                continue
            if inspect.isclass(thing) and issubclass(thing, torch.nn.Module):
                found[full] = _Case(
                    functools.partial(_made, thing, given or {}), thing.forward, tensors
                )
            elif functions and inspect.isfunction(thing) and not _has_layer(module, name):
                found[full] = _Case(functools.partial(_handed, thing), thing, 1)
            else:
                continue
            known.add(id(thing))
    return found


def _has_layer(module: Any, function: str) -> bool:
    """Whether the module has a layer of the function's name, which calls it."""
    wanted = function.replace("_", "").lower()
    return any(
        name.lower() == wanted and inspect.isclass(vars(module)[name]) for name in vars(module)
    )


def _things(module: Any, last: int | None) -> list[tuple[str, Any]]:
    if last is None:
        return sorted(vars(module).items())
    own = [
        (name, thing)
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and thing.__module__ == module.__name__
    ]
    return own[-last:]


def _imported(names: list[str], walk: bool) -> Iterator[Any]:
    for name in names:
        module = importlib.import_module(name)
        yield module
        for below in (
            pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}.") if walk else ()
        ):
            if re.search(r"\.(tests?|_|__)|main$", below.name):
                continue
            with (
                contextlib.suppress(Exception, SystemExit),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                yield importlib.import_module(below.name)


def _handed(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _made(made: Any, given: dict[str, Any]) -> Any:
    """A module with small values for what it must be told, and for the sizes that it may be."""
    values = {}
    for name, parameter in inspect.signature(made).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in given:
            values[name] = given[name]
        elif parameter.default is parameter.empty:
            values[name] = _value(parameter)
    return made(**values)


def _value(parameter: inspect.Parameter) -> Any:
    """A small value by a parameter's name, or by its type, which also says how many it takes."""
    kind = _type_name(parameter)
    plain = PLAIN.get(kind)
    value = next((value for pattern, value in GIVEN if re.search(pattern, parameter.name)), plain)
    if value is None:
        raise ValueError(f"no value for {parameter.name}: {kind}")
    if isinstance(plain, tuple) and not isinstance(value, tuple):
        return (value,) * len(plain)
    return value() if isinstance(value, type) else value


def _type_name(parameter: inspect.Parameter) -> str:
    said = parameter.annotation
    if said is parameter.empty:
        return ""
    return str(said.__name__ if isinstance(said, type) else said).replace("typing.", "")


class _Case:
    """One module or function; the input that it takes is chosen once, on the CPU."""

    def __init__(self, make: Callable[[], Any], signature: Any, least: int) -> None:
        self._make = make
        self._required = [
            each
            for each in inspect.signature(signature).parameters.values()
            if each.default is each.empty
            and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
            and each.name != "self"
        ]
        self._least = least
        self._chosen: list[Any] | None = None

    def __call__(self, device: str) -> list[Any]:
        """Run it on a device."""
        if self._chosen is None:
            self._chosen = self._choose()
        return self._run(self._chosen, device)

    def _choose(self) -> list[Any]:
        errors = []
        for values in self._inputs():
            try:
                self._run(values, "cpu")
            except Exception as error:  # noqa: BLE001, PERF203  the next input may do
                errors.append(error)
            else:
                return values
        raise errors[0]

    def _inputs(self) -> Iterator[list[Any]]:
        """Values for what is required: numbers where the type says so, tensors for the rest."""
        named = [
            _value(each) if _type_name(each) in PLAIN else _named(each.name)
            for each in self._required
        ]
        if all(value is not None for value in named):
            yield named
        numbers = {at for at, each in enumerate(self._required) if _type_name(each) in PLAIN}
        names = {at for at, each in enumerate(self._required) if _is_told(each.name)}
        for plain in (numbers, names) if names - numbers else (numbers,):
            count = len(self._required) - len(plain)
            for sample in _samples(max(count, self._least) if not plain else count):
                tensors = iter(sample)
                values = [
                    _value(each) if at in plain else next(tensors)
                    for at, each in enumerate(self._required)
                ]
                yield [*values, *tensors]

    def _run(self, given: list[Any], device: str) -> list[Any]:
        torch.manual_seed(0)
        called = self._make()
        values = [
            value.detach().to(device) if isinstance(value, torch.Tensor) else value
            for value in given
        ]
        results: list[Any] = []
        if not isinstance(called, torch.nn.Module):
            return [called(*values)]
        called.to(device)
        for value in values:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                value.requires_grad_()
        for _ in range(2):
            result = called(*values)
            results.append(result)
            loss = sum(part.float().mean() for part in tensors_in(result) if part.requires_grad)
            if isinstance(loss, torch.Tensor):
                loss.backward()
                results.append(loss)
        called.eval()
        with torch.no_grad():
            results.append(called(*values))
        return results


def _is_told(name: str) -> bool:
    return any(re.search(pattern, name) for pattern, _ in GIVEN)


def _named(name: str) -> torch.Tensor | None:
    """The tensor of a graph or of a sound that a parameter is called after."""
    generator = torch.Generator().manual_seed(2)
    nodes = torch.arange(N)
    wave = torch.randn(B, 1600, generator=generator)
    spectrum = torch.randn(C, N, N, generator=generator, dtype=torch.complex64)
    known = {
        r"^(x|src|node_feat|z|h)$": lambda: torch.randn(N, D, generator=generator),
        r"^(edge_index|pos_edge_index|adj_t|edge_label_index)$":
            lambda: torch.stack([nodes, nodes.roll(1)]),
        r"^(edge_weight)$": lambda: torch.rand(N, generator=generator),
        r"^(edge_attr|edge_feat)$": lambda: torch.randn(N, D, generator=generator),
        r"^(batch|index|cluster)$": lambda: nodes // 4,
        r"^(edge_type|node_type)$": lambda: nodes % 2,
        r"^(pos)$": lambda: torch.randn(N, 3, generator=generator),
        r"^(waveform|wav|audio)$": lambda: wave,
        r"^(specgram|spectrogram)$": lambda: spectrum.abs(),
        r"^(psd|psd_s|psd_n)$": lambda: spectrum @ spectrum.mT.conj(),
        r"^(window)$": lambda: torch.hann_window(64),
    }  # fmt: skip
    for pattern, made in known.items():
        if re.search(pattern, name):
            return made()
    return None


@functools.cache
def _samples(count: int) -> list[list[torch.Tensor]]:
    """Inputs of so many tensors, the likeliest first."""
    torch.manual_seed(1)
    image, other = torch.rand(B, C, S, S), torch.rand(B, C, S, S)
    steps, words = torch.randn(B, N, D), torch.randint(0, W, (B, N))
    rows, labels = torch.randn(N, D), torch.arange(N) % 4
    logits, classes = torch.randn(B, 4, S, S), torch.randint(0, 4, (B, S, S))
    points = torch.rand(B, N, 2)
    edges = torch.stack([torch.arange(N), torch.arange(N).roll(1)])
    matrix = torch.eye(3).expand(B, 3, 3).clone()
    wave = torch.randn(B, 4000)
    video = torch.rand(B, C, 4, S, S)
    mask = torch.ones(B, N, dtype=torch.bool)
    return {
        0: [[]],
        1: [[image], [steps], [words], [rows], [wave], [points], [matrix], [video], [logits],
            [torch.rand(B, C)], [torch.rand(B)], [torch.rand(C, S, S)], [edges],
            [torch.rand(B, 1, S, S)], [torch.randn(B, D, N, dtype=torch.complex64)], [image[0, 0]],
            [steps[0, 0]], [labels], [torch.randn(1, 4, 4000)]],
        2: [[image, other], [rows, labels], [logits, classes], [rows, edges], [steps, steps],
            [image, matrix], [points, points], [matrix, points], [steps, mask], [words, words],
            [image, torch.rand(B)], [wave, wave], [torch.rand(N), torch.rand(N)],
            [torch.randn(N, 4), labels], [steps, words], [matrix, matrix],
            [labels, labels], [torch.rand(N), labels], [logits, logits], [image, classes],
            [steps[0], labels], [points[0], points[1]], [torch.rand(B, 1, S, S), image]],
        3: [[steps, steps, steps], [image, other, other], [rows, labels, rows], [rows, edges, rows],
            [points, points, matrix], [image, matrix, matrix], [matrix, points, points],
            [rows, edges, torch.rand(N)], [torch.rand(N), torch.rand(N), torch.rand(N)],
            [words, words, words], [rows, labels, labels], [image, points, points]],
        4: [[image, other, matrix, matrix], [matrix, matrix, points, points],
            [steps, steps, steps, steps]],
    }.get(count, [[image] * count, [steps] * count, [rows] * count, [matrix] * count])  # fmt: skip
