"""Several numbers that one step reads one by one: read them with one transfer.

`log(loss.item(), accuracy.item())` waits twice; `torch.stack([loss, accuracy]).tolist()` waits
once, for the same numbers. What is stacked must be scalars of a kind that is known, so that counts
stay integers; elements of one tensor are of one kind anyway. A second read of the same value takes
the number that the first one brought.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from asyncguard.lint.fixes import effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat, same
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.kinds import Kind, infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.fixes.words import dialects, words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 30
MOST = 16  # values that are stacked one by one
_METERS = words("method.meter")


class Read(NamedTuple):
    """A read, its value, what is known of that, and the variable that it is assigned to alone."""

    spot: Spot
    value: ast.expr
    kind: Kind
    name: str


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each group of reads that can be made at the place of the first."""
    blocks: dict[tuple[int, str], list[Read]] = {}
    for spot in spots:
        if (read := _read(spot)) is not None:
            blocks.setdefault((id(spot.body), spot.finding.framework), []).append(read)
    for reads in blocks.values():
        taken: set[int] = set()
        for at, read in enumerate(reads):
            if id(read) in taken:
                continue
            group = _group(other for other in islice(reads, at, None) if id(other) not in taken)
            taken.update(map(id, group))
            if len(group) > 1 and (repair := _repair(group)) is not None:
                yield repair


def _read(spot: Spot) -> Read | None:
    value = read_value(spot.node)
    certain = flow.is_certain(spot.code, spot.node, spot.statement)
    if value is None or not certain or spot.code.indent(spot.statement) is None:
        return None
    if not flow.is_pure(value) or spot.finding.framework not in _WAYS:
        return None
    return Read(spot, value, infer(spot.code, value), _assigned(spot))


def _assigned(spot: Spot) -> str:
    statement = spot.statement
    if not isinstance(statement, ast.Assign) or statement.value is not spot.node:
        return ""
    target = statement.targets[0]
    alone = len(statement.targets) == 1 and spot.code.is_alone(statement)
    return target.id if alone and isinstance(target, ast.Name) else ""


def _group(reads: Iterator[Read]) -> list[Read]:
    """Return the first read of a block, and those after it that can be made in its place."""
    first = next(reads)
    group = [first]
    for other in reads:
        if len(group) == MOST:
            break
        spot = other.spot
        if any(read.spot.node is spot.node for read in group):
            continue
        between = first.spot.body[first.spot.at : spot.at]
        between = [s for s in between if not any(r.name and r.spot.statement is s for r in group)]
        named = {read.name for read in group}
        if effects.changes_in_view(spot.code, between, other.value):
            break
        if named & flow.names(other.value):
            break
        if not all(flow.is_quiet(statement) or _notes(statement, group) for statement in between):
            break
        group.append(other)
    return group


def _notes(statement: ast.stmt, group: Sequence[Read]) -> bool:
    """Whether a call is given no more than texts and numbers that the group reads."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    reads = [read.spot.node for read in group]
    return any(part in reads for part in given) and all(
        part in reads or isinstance(part, ast.Constant) or _is_text(part) for part in given
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) and flow.is_pure(node)


def _repair(group: Sequence[Read]) -> Repair | None:
    spots = tuple(read.spot for read in group)
    if all(same(read.value, group[0].value) for read in group):
        return _again(group, spots)
    way = _WAYS[group[0].spot.finding.framework]
    made = way(group)
    if made is None:
        return None
    line, finals = made
    edits = _edits(group, line, finals)
    message = f"read {len(group)} values with one transfer; the numbers are the same"
    if any(not read.kind.number for read in group):
        message += ", integers among them as floats"
    return Repair(Fix(message, edits, Applicability.UNSAFE), spots)


def _names(group: Sequence[Read]) -> list[str]:
    return [read.name or read.spot.code.fresh(_name_of(read.value)) for read in group]


def _name_of(value: ast.expr) -> str:
    root = flow.root(value)
    return f"{root}_value" if root else "value"


def _edits(group: Sequence[Read], made: str, finals: Sequence[str]) -> tuple[Edit, ...]:
    """Write the transfer before the first read, and its numbers where the reads were."""
    code, names = group[0].spot.code, _names(group)
    first = group[0].spot.statement
    text = f"{', '.join(names)} = {made}"
    edits: list[Edit] = []
    if not group[0].name:
        edits.append(code.insert_before(first, text))
    for read, name, final in zip(group, names, finals, strict=True):
        number = final.format(name)
        statement = read.spot.statement
        if read.name and statement is first:
            extra = [] if number == name else [f"\n{code.indent(first)}{name} = {number}"]
            edits.append(code.replace(statement, "".join([text, *extra])))
        elif read.name and number == name:
            edits.append(code.delete(statement))
        else:
            edits.append(code.replace(read.spot.node, number))
    return tuple(edits)


def _again(group: Sequence[Read], spots: tuple[Spot, ...]) -> Repair | None:
    """Read once what is read again."""
    first, code = group[0], group[0].spot.code
    if any(not same(read.spot.node, first.spot.node) for read in group):
        return None
    name, edits = first.name, []
    if name and name in flow.changed(first.spot.body[first.spot.at + 1 : group[-1].spot.at]):
        return None
    if not name:
        name = code.fresh(_name_of(first.value))
        text = flat(code.source(first.spot.node))
        edits.append(code.insert_before(first.spot.statement, f"{name} = {text}"))
        edits.append(code.replace(first.spot.node, name))
    edits += [code.replace(read.spot.node, name) for read in group[1:]]
    message = f"read `{code.source(first.value)}` once and keep the number"
    if not _is_proven(group):
        message += ", if nothing out of sight changes it"
        return Repair(Fix(message, tuple(edits), Applicability.UNSAFE), spots)
    return Repair(Fix(message, tuple(edits), Applicability.SAFE), spots)


def _is_proven(group: Sequence[Read]) -> bool:
    """Whether the first of equal reads gives what all of them would, and its name keeps it."""
    first, last = group[0].spot, group[-1].spot
    code, node = first.code, first.node
    if not effects.is_repeatable(code, node) or not sorts.is_plain(code, node):
        return False
    if not group[0].name and not effects.may_lead(code, first.statement, node):
        return False
    run = [*first.body[first.at : last.at], *effects.before(code, last.statement, last.node)]
    if effects.may_change(code, run, node):
        return False
    assigned = first.statement.targets[0] if isinstance(first.statement, ast.Assign) else None
    return not group[0].name or (
        assigned is not None and not effects.may_change(code, run[1:], assigned)
    )


# ---- how each framework reads several values: the expression, and what is made of each number


Made = tuple[str, list[str]]


def _torch(group: Sequence[Read]) -> Made | None:
    code = group[0].spot.code
    if (elements := _elements(code, group)) is not None:
        return elements
    module = _module(group[0].spot)
    kinds = {read.kind.number for read in group}
    if module is None or not all(_is_metered(r) or _has_shape(r) for r in group):
        return None
    mixed = len(kinds) > 1 or "" in kinds
    values = ", ".join(_value(code, read, ".double()" if mixed else "") for read in group)
    finals = [_final(read, mixed=mixed) for read in group]
    return f"{module}.stack([{values}]).tolist()", finals


def _value(code: Code, read: Read, cast: str) -> str:
    shape = "" if read.kind.scalar else ".reshape(())"
    if not shape and not cast:
        return flat(code.source(read.value))
    return f"{flat(code.operand(read.value))}{shape}{cast}"


def _has_shape(read: Read) -> bool:
    return bool(read.kind.number) and (read.kind.scalar or read.kind.number == "float")


def _is_metered(read: Read) -> bool:
    """Whether a meter is given the number, or who notes it beside a text: of whatever type."""
    call = read.spot.code.parent(read.spot.node)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if read.spot.node not in call.args:
        return False
    named = [*call.args, *(keyword.value for keyword in call.keywords)]
    return call.func.attr in _METERS or (
        isinstance(read.spot.code.parent(call), ast.Expr)
        and any(_is_text(part) or _is_constant_text(part) for part in named)
    )


def _is_constant_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _final(read: Read, *, mixed: bool) -> str:
    """Return what has to be made of a number so that it is what the read returned."""
    kind = converts_to(read.spot.node) or (read.kind.number if mixed else "")
    return {"int": "int({})", "bool": "bool({})"}.get(kind, "{}") if mixed or kind else "{}"


def _elements(code: Code, group: Sequence[Read]) -> Made | None:
    """Read elements of one tensor, `x[0].item()` and `x[1].item()`: they are of one kind."""
    indices = [_element(read.value) for read in group]
    if any(index is None for index in indices) or len(group) > MOST:
        return None
    owners = [read.value.value for read in group if isinstance(read.value, ast.Subscript)]
    if any(not same(owner, owners[0]) for owner in owners):
        return None
    text = flat(code.operand(owners[0]))
    finals = _conversions(group)
    if indices == list(range(len(group))):
        return f"{text}[:{len(group)}].flatten().tolist()", finals
    module = _module(group[0].spot)
    values = ", ".join(flat(code.source(read.value)) for read in group)
    return (f"{module}.stack([{values}]).flatten().tolist()", finals) if module else None


def _conversions(group: Sequence[Read]) -> list[str]:
    """Return how the numbers that `tolist` gives become what each read gave."""
    kinds = [converts_to(read.spot.node) or "" for read in group]
    if "float" in kinds:
        return [f"{kind}({{}})" for kind in kinds]
    return ["int({})" if kind == "int" else "{}" for kind in kinds]


def _element(node: ast.expr) -> int | None:
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        index = index.operand
        return -index.value if _is_int(index) else None  # type: ignore[attr-defined]
    return index.value if _is_int(index) else None  # type: ignore[attr-defined]


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _jax(group: Sequence[Read]) -> Made | None:
    """Read a tuple of any shapes and types; each number is made of its array as before."""
    module, code = _module(group[0].spot), group[0].spot.code
    if module is None:
        return None
    values = ", ".join(flat(code.source(read.value)) for read in group)
    finals = [f"{converts_to(read.spot.node)}({{}})" if converts_to(read.spot.node) else "{}.item()"
              for read in group]  # fmt: skip
    return f"{module}.device_get(({values}))", finals


def _in_double(group: Sequence[Read], cast: str, made: str) -> Made | None:
    module, code = _module(group[0].spot), group[0].spot.code
    known = all(read.kind.number and read.kind.scalar for read in group)
    if module is None or not known:
        return None
    values = [
        cast.format(module=module, value=flat(code.source(read.value)),
                    operand=flat(code.operand(read.value)))
        for read in group
    ]  # fmt: skip
    finals = [_final(read, mixed=True) for read in group]
    return made.format(module=module, values=", ".join(values)), finals


def _tensorflow(group: Sequence[Read]) -> Made | None:
    return _in_double(
        group,
        "{module}.cast({value}, {module}.float64)",
        "{module}.stack([{values}]).numpy().tolist()",
    )


def _cupy(group: Sequence[Read]) -> Made | None:
    return _in_double(group, "{operand}.astype('float64')", "{module}.stack([{values}]).tolist()")


def _mxnet(group: Sequence[Read]) -> Made | None:
    if any(read.spot.finding.api.startswith("mxnet.NDArray") for read in group):
        return _legacy(group)
    return _in_double(group, "{operand}.astype('float64')", "{module}.stack([{values}]).tolist()")


def _legacy(group: Sequence[Read]) -> Made | None:
    """Read arrays of the old interface, which has no scalars: of one type, or it fails loudly."""
    code = group[0].spot.code
    module = module_name(code, dialects()["mxnet.nd"])
    if module is None or any(converts_to(read.spot.node) for read in group):
        return None
    values = ", ".join(f"{flat(code.operand(read.value))}.reshape(-1)" for read in group)
    return f"{module}.concat({values}, dim=0).asnumpy()", ["{}"] * len(group)


_WAYS = {"torch": _torch, "jax": _jax, "tensorflow": _tensorflow, "cupy": _cupy, "mxnet": _mxnet}


def _module(spot: Spot) -> str | None:
    return module_name(spot.code, spot.dialect) if spot.dialect is not None else None
