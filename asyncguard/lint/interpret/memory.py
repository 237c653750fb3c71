"""What is known of the host memory of arrays that functions and methods give.

Whether it is pinned, how the elements stand in it, and which allocation it is a part of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import prod

import libcst as cst

from asyncguard.catalogue import HostMemory
from asyncguard.lint.contexts.copies import COPIES, become, in_flight, stream
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.copies import PAGED, PREFIX, WHOLE, Layout, Made, Memory, Size
from asyncguard.lint.domain.values import (
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    UNKNOWN,
    Value,
)
from asyncguard.lint.names import is_in_place


def _last(name: str) -> str:
    return name.rpartition(".")[2]


FEW = 16384  # elements of four bytes, that fit in the 64 KiB which CUDA stages at once
COMPUTED = 64  # what a size is taken for that is computed: so many rows, tokens or features
MADE = frozenset({HOST_ARRAY, "event", "stream", "loader"})  # of which calls tell more


def memory_of(value: Value) -> Memory | None:
    """Return what is known of the memory of an array on the host; None if nothing is."""
    known = value.kind == HOST_ARRAY and isinstance(value.ref, Memory)
    return value.ref if known and isinstance(value.ref, Memory) else None


def table_of(frame: Frame, framework: str) -> HostMemory | None:
    """Return what the catalogue says of the host memory of a framework's arrays."""
    known = frame.analysis.knowledge.frameworks.get(framework)
    return known.memory if known is not None else None


def made_at(frame: Frame, node: cst.CSTNode) -> Made | None:
    """Return what tells from others what a call makes."""
    unit = frame.function.unit
    place = unit.place(node) if unit is not None else None
    return Made(frame.analysis.path, place) if place is not None else None


def of_function(
    frame: Frame, node: cst.Call, name: str, arguments: Arguments, made: Value
) -> Value:
    """Return what a function of the catalogue makes, with its memory or identity."""
    if made.kind == "event":
        return made._replace(ref=made_at(frame, node))
    if made.kind == "stream":
        table = table_of(frame, made.framework)
        current = table is not None and name in table.current_streams
        return made._replace(ref=stream(frame.env) if current else made_at(frame, node))
    if made.kind == "loader":
        return _loader(frame, name, arguments, made)
    table = table_of(frame, made.framework)
    if table is None:
        return made
    memory = _of_option(frame, node, table, arguments) if table.pins else None
    if memory is None:
        return made._replace(ref=_of_arguments(frame, table, name, arguments))
    size, sizes = _size(frame, table, name, arguments), _sizes(table, name, arguments)
    return made._replace(ref=memory._replace(size=size, rows=_rows(sizes or ())))


def _loader(frame: Frame, name: str, arguments: Arguments, made: Value) -> Value:
    """Return a data loader, with whether it pins its batches; it does not unless it is told to."""
    table = table_of(frame, made.framework)
    is_known = table is not None and _last(name) in table.loaders
    if table is None or not is_known or any(a.stars for a in arguments) or made.ref is not None:
        return made
    option = next((a.value for a in arguments if a.keyword == table.pins), None)
    if option is not None and option.literal is None:
        return made
    pinned = option is not None and bool(option.literal)
    return made._replace(ref=Memory(pinned, Layout.DENSE))


def _of_option(
    frame: Frame, node: cst.Call, table: HostMemory, arguments: Arguments
) -> Memory | None:
    """Return the memory that an option asks for; an unknown one where that is not known."""
    if any(a.stars == 2 for a in arguments):
        return Memory()
    option = next((a.value for a in arguments if a.keyword == table.pins), None)
    if option is None or option.literal is False or option.is_none:
        return None
    return pinned_at(frame, node) if option.literal is True else Memory()


def pinned_at(frame: Frame, node: cst.Call, layout: Layout = Layout.DENSE) -> Memory:
    """Return pinned memory that a call allocates; what it gave before is another block."""
    block = made_at(frame, node)
    if block is not None:
        remade(frame, block)
    return Memory(pinned=True, layout=layout, block=block)


def _of_arguments(
    frame: Frame, table: HostMemory, name: str, arguments: Arguments
) -> Memory | None:
    out = next((a.value for a in arguments if a.keyword == table.out), None)
    if out is not None:
        return memory_of(out)
    first = arguments[0].value if arguments else Value()
    data = frame.analysis.knowledge.returns.find(name)
    if name in table.shares:
        if first.kind in (HOST_ARRAY, DEVICE):
            return memory_of(first)
        if first.kind == UNKNOWN and (data is None or data[0] != HOST_ARRAY):
            return None
    given = memory_of(first)
    if given is not None and _shares(table, _last(name)):
        return of_method(table, given, _last(name))
    return PAGED._replace(size=_size(frame, table, name, arguments))


def _shares(table: HostMemory, name: str) -> bool:
    shared = (table.views, table.transposes, table.spreads, table.parts, table.packs)
    return any(name in names for names in shared)


def _size(frame: Frame, table: HostMemory, name: str, arguments: Arguments) -> Size:
    """Return how much a factory makes, by the numbers that it is given or by the sizes."""
    points = frame.analysis.knowledge.sync_functions.get(name, ())
    given = [a.value for a in arguments if not a.keyword]
    if given and (_last(name) in table.data or any(p.source and p.source.elements for p in points)):
        return _of_data(given[0])
    if (sizes := _sizes(table, name, arguments)) is not None:
        return _of_sizes(sizes)
    numbers = bool(given) and all(value.kind == HOST for value in given)
    return Size.FEW if numbers else Size.UNKNOWN


def _sizes(table: HostMemory, name: str, arguments: Arguments) -> Sequence[Value] | None:
    """Return the sizes given to a factory, listed or one by one; None where they are unknown."""
    listed = next((a.value.items for a in arguments if _is_listed(table, a)), None)
    if listed is not None or _last(name) not in table.sized or any(a.stars for a in arguments):
        return listed
    given = [a.value for a in arguments if not a.keyword]
    single = len(given) == 1 and given[0].kind != HOST  # it may be a shape
    return None if single else given


def _rows(sizes: Sequence[Value]) -> int:
    """Return how many of the sizes are one before any that is not."""
    return sum(1 for _ in takewhile(lambda size: size.literal == 1, sizes))


def _of_data(data: Value) -> Size:
    """Return how much is made of numbers, a list of them, or an array."""
    count = _count(data)
    if count is not None:
        return Size.FEW if count <= FEW else Size.MANY
    return Size.FEW if _is_vector(data) else _size_of(data)


def _size_of(value: Value) -> Size:
    memory = memory_of(value)
    return memory.size if memory is not None else Size.UNKNOWN


def _of_sizes(sizes: Sequence[Value]) -> Size:
    """Return how much an array of these sizes holds, some of which may be computed.

    A vector whose length is computed has a number for each row, class or request, of which 16,384
    are rare.
    """
    numbers = [size.literal for size in sizes]
    known = [n for n in numbers if isinstance(n, (int, float)) and not isinstance(n, bool)]
    computed = len(numbers) - len(known)
    if len(numbers) == computed == 1:
        return Size.FEW
    if prod(known) * COMPUTED**computed > FEW:
        return Size.MANY
    return Size.UNKNOWN if computed else Size.FEW


def _is_vector(value: Value) -> bool:
    """Whether it is a list of numbers, however many."""
    element = value.element if value.kind == CONTAINER and value.items is None else None
    return element is not None and element.kind == HOST


def _is_listed(table: HostMemory, argument: Argument) -> bool:
    listed = argument.value.kind == CONTAINER and argument.value.items is not None
    return listed and argument.keyword in ("", table.size)


def _count(value: Value) -> int | None:
    """Return how many numbers this holds; None if that is not known."""
    if value.kind == HOST:
        return 1
    if value.kind == HOST_ARRAY:
        return 1 if _size_of(value) is Size.FEW else None
    if value.kind != CONTAINER or value.items is None:
        return None
    counts = [_count(item) for item in value.items]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def of_method(table: HostMemory, memory: Memory | None, method: str) -> Memory | None:
    """Return the memory of what a method gives of an array in some memory."""
    known = (memory or Memory())._replace(rows=0)
    if method in table.views or is_in_place(method):
        found = known
    elif method in table.transposes:
        turned = known.layout is Layout.DENSE
        found = known._replace(layout=Layout.TRANSPOSED if turned else Layout.UNKNOWN)
    elif method in table.spreads:
        found = known._replace(layout=Layout.GAPPED, size=Size.UNKNOWN)
    elif method in table.parts:
        found = known._replace(layout=Layout.UNKNOWN, part=None, size=_at_most(known.size))
    elif method in table.packs:
        found = _packed(known)
    elif method in table.converts:
        found = known._replace(block=None) if known.pinned is False else Memory()
    else:
        return PAGED._replace(size=_at_most(known.size))
    return found if found != Memory() and memory is not None else None


def _packed(memory: Memory) -> Memory:
    """Return the memory of an array without gaps: its own, where there were some."""
    if memory.layout is Layout.DENSE or memory.pinned is False:
        return memory
    return Memory() if memory.layout is Layout.UNKNOWN else PAGED._replace(size=memory.size)


def _at_most(size: Size) -> Size:
    """Return the size of what may be a part, a sum or a choice of an array."""
    return Size.FEW if size is Size.FEW else Size.UNKNOWN


def of_part(memory: Memory, node: cst.Subscript) -> Memory | None:
    """Return the memory of what a subscript of numbers and slices gives of it.

    `x[i, :n]` is one block, `x[:n, i]` has gaps.
    """
    indices = [element.slice for element in node.slice]
    if all(map(_is_full, indices)):
        return memory
    part = _part(indices[0]) if len(indices) == 1 and memory.part == WHOLE else None
    layout = memory.layout if memory.layout is not Layout.TRANSPOSED else Layout.UNKNOWN
    if layout is Layout.DENSE and _leaves_gaps(indices, memory.rows):
        layout = Layout.GAPPED
    size = memory.size if all(map(_is_strided, indices)) else _at_most(memory.size)
    rows = memory.rows if all(type(index) is cst.Slice for index in indices) else 0
    return memory._replace(layout=layout, part=part, size=size, rows=rows)


def _leaves_gaps(indices: list[cst.BaseSlice], rows: int) -> bool:
    """Whether something is chosen along an axis behind one of which there is more than one.

    Along the first `rows` axes there is one of everything.
    """
    spread = False
    for axis, index in enumerate(indices):
        if type(index) is cst.Slice:
            if index.step is not None and _number(index.step) != 1:
                return True
            if spread and not _is_full(index):
                return True
            spread |= axis >= rows
        elif type(index) is cst.Index and type(index.value) is cst.Ellipsis:
            spread = True
        elif spread and type(index) is cst.Index and not _is_none(index.value):
            return True
    return False


def _is_full(index: cst.BaseSlice) -> bool:
    return type(index) is cst.Slice and index.lower is index.upper is index.step is None


def _is_strided(index: cst.BaseSlice) -> bool:
    """Whether it takes every so many of all there are: `::2`."""
    return type(index) is cst.Slice and index.lower is index.upper is None


def _part(index: cst.BaseSlice) -> str | None:
    """Return what tells a part that one index gives from others; None if nothing does."""
    if type(index) is cst.Slice:
        lower = index.lower is None or _number(index.lower) == 0
        return PREFIX if lower and index.step is None else None
    number = _number(index.value) if type(index) is cst.Index else None
    return None if number is None else str(number)


def _number(node: cst.BaseExpression) -> int | None:
    return node.evaluated_value if type(node) is cst.Integer else None


def _is_none(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Name and node.value == "None"


def taken(value: Value, part: Value, node: cst.Subscript, indices: list[Value]) -> Value:
    """Return a part of an array in host memory, with its memory.

    What other arrays, lists and masks choose is copied.
    """
    memory = memory_of(value)
    if memory is None or part.kind != HOST_ARRAY:
        return part
    if any(index.kind == UNKNOWN for index in indices):
        return part._replace(ref=None)
    chosen = any(index.kind != HOST for index in indices)
    return part._replace(ref=PAGED if chosen else of_part(memory, node))


def _older(block: Made) -> Made:
    return block._replace(path=f"{block.path} before")


def remade(frame: Frame, block: Made) -> None:
    """Note that a call makes another block: variables that hold the one before hold an older one.

    Lists hold blocks of all rounds, and keep the name.
    """
    older = _older(block)
    if COPIES in frame.env:
        become(frame.env, in_flight(frame.env).renamed(block, older))
    for path, value in list(frame.env.items()):
        if (renamed := _renamed(value, block, older)) is not value:
            frame.env[path] = renamed


def _renamed(value: Value, block: Made, older: Made) -> Value:
    """Return a value in which an older block has its own name."""
    if isinstance(value.ref, Memory):
        of_it = value.ref.block == block
        return value._replace(ref=value.ref._replace(block=older)) if of_it else value
    if value.kind != CONTAINER:
        return value
    change: Callable[[Value], Value] = lambda held: _renamed(held, block, older)  # noqa: E731
    items = tuple(map(change, value.items)) if value.items is not None else None
    if items is not None and any(a is not b for a, b in zip(items, value.items or (), strict=True)):
        value = value._replace(items=items)
    return value


def without_older(frame: Frame, value: Value) -> Value:
    """Return an attribute, as it was before this function was entered: of another block."""
    memory = memory_of(value)
    where = frame.function.outlined
    if memory is None or memory.block is None or where is None:
        return value
    here = memory.block.path == frame.analysis.path
    if here and where.first <= memory.block.place[0] <= where.last:
        return value._replace(ref=memory._replace(block=_older(memory.block)))
    return value
