"""What expressions other than calls evaluate to, and which of them read a device value.

Operators spread what their operands are: a device value compared with anything is a device mask,
a tuple's elements come back out when it is unpacked. Syntax that invokes a protocol (`if x`,
f-strings, `in`) is a site when the catalogue says that the protocol blocks.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import libcst as cst

from asyncguard.lint.frames import Frame, LoopRecord, evaluate, handles, merge
from asyncguard.lint.guards import IDENTITY, guard_of
from asyncguard.lint.program import ClassInfo, FunctionInfo, scan
from asyncguard.lint.tree import dotted, parse_type
from asyncguard.lint.values import (
    ANSWER,
    ARRAYS,
    BATCH,
    CLASS,
    CONTAINER,
    DEVICE,
    DICT,
    EITHER,
    FUNCTION,
    HIGH,
    HINTED,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INDICES,
    INSTANCE,
    ITSELF,
    LOW,
    MASK,
    MEDIUM,
    MODEL,
    NAMED,
    NO_PARAMS,
    NONE_VALUE,
    PART,
    PLACE,
    READ,
    STRUCTURE,
    SYMBOL,
    TUPLE,
    UNKNOWN,
    UNKNOWN_VALUE,
    WHEREVER,
    Value,
    container,
    device,
    from_params,
    join,
    literal,
    part_of,
    symbol,
    weaken,
)
from asyncguard.lint.words import naming

CALLABLE = frozenset({MODEL, "criterion"})
# Kinds of nodes, by their exact types: `isinstance` is slow for classes with an ABC as base.
SEQUENCES = frozenset({cst.Tuple, cst.List})
_BITS = frozenset({cst.BitAnd, cst.BitOr, cst.BitXor})
_JOINING = frozenset({cst.Add, cst.Multiply})
_MEMBERSHIP = frozenset({cst.In, cst.NotIn})


# ---- protocols


def protocol_site(
    frame: Frame,
    protocol: str,
    node: cst.CSTNode,
    value: Value,
    *,
    sink: bool = False,
    whole: bool = False,
    among: tuple[str, ...] = (),
) -> bool:
    """Note a site if `protocol` of `value` (or of what it contains) waits.

    `whole`: of a container it asks for nothing. `among`: only for values of these frameworks.
    """
    text = protocol in ("__repr__", "__str__", "__format__")
    read = first_device(value) if text or sink else value
    if read.kind != DEVICE and not (read.kind == UNKNOWN and read.params):
        return False
    if text and read.kind == UNKNOWN and read.name == PART:
        return False  # what is printed of an argument is its name or the like
    if text and read.name == STRUCTURE and _NUMBERS(dotted(node)):
        return False  # so is what numbers the parts of what a model gave
    unsure = read.kind == UNKNOWN or read.confidence < HIGH
    if text and unsure and _NAMES(dotted(node)):
        return False  # a word, maybe one of a batch
    if (read.name in (STRUCTURE, HINTED) and protocol in ("__bool__", "__contains__")) or (
        unsure and protocol == "__contains__"
    ):
        read = weaken(read, LOW)  # it may as well be a dict or a tuple, or a setting: `x.aux_loss`
    if read.name == HINTED and text:
        likely = frame.analysis.knowledge.likely[read.framework]
        if "item" in likely:  # where that is common, what is printed mostly is a number already
            read = weaken(read, LOW)
    if protocol == "__array__" and read.kind == DEVICE and read.confidence < HIGH:
        known = frame.analysis.knowledge.frameworks.get(read.framework)
        if known is not None and not known.asynchronous_cpu:
            read = weaken(read, LOW)  # NumPy takes none from a device: it is on the host by now
    frameworks = (read.framework,) if read.framework else frame.analysis.frameworks
    for framework in frameworks:
        if among and framework not in among:
            continue
        point = frame.analysis.knowledge.sync_protocols.get((framework, protocol))
        if point is not None:
            frame.site(point, node, read, sink=sink, whole=whole, subject=node)
            return True
    return False


_NAMES = naming(r"(name|path|title|caption|url)s?$")
_NUMBERS = naming(r"(^|[._])(idx|index|i|j|k|key|name|level|layer)$")


def first_device(value: Value, depth: int = 0) -> Value:
    """Return the device value that `value` is or holds, else `value`."""
    if value.kind != CONTAINER or depth > 3:
        return value
    inner = [*(value.items or ()), *(v for _, v in value.fields)]
    if value.element is not None:
        inner.append(value.element)
    for item in inner:
        found = first_device(item, depth + 1)
        if found.kind == DEVICE:
            return found
    return value


def truth(frame: Frame, node: cst.BaseExpression) -> Value:
    """Evaluate an expression in boolean context."""
    if type(node) is cst.BooleanOperation:
        truth(frame, node.left)
        is_and = type(node.operator) is cst.And
        with frame.guarded(guard_of(frame, node.left)[not is_and]):
            with_narrowed(frame, node.left, is_and, node.right)
        return HOST_VALUE
    if type(node) is cst.UnaryOperation and type(node.operator) is cst.Not:
        truth(frame, node.expression)
        return HOST_VALUE
    value = evaluate(frame, node)
    tested = node.value if type(node) is cst.NamedExpr else node
    if value.kind == DEVICE and frame.function.calls(dotted(tested)):
        return value  # it asks whether there is such a function
    if value.kind == DEVICE and (_is_only_named(frame, node) or _is_detail(frame, node)):
        value = weaken(value, LOW)  # more likely asks whether there is any
    protocol_site(frame, "__bool__", tested, value, whole=True)
    return value


def _is_only_named(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether nothing but a variable's name or usage says what it is."""
    path = dotted(node)
    if not path or frame.hint(path).kind != DEVICE:
        return False
    known = frame.lookup(path)
    return known is None or known.kind == UNKNOWN


_OF_VALUES = frozenset({"data", "grad", "T", "H", "mT", "mH", "real", "imag", "values"})


def _is_detail(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether this is an attribute that arrays have not, of what is a batch of them then."""
    if type(node) is not cst.Attribute or node.attr.value in _OF_VALUES:
        return False
    with frame.quiet():
        owner = evaluate(frame, node.value)
    known = frame.analysis.knowledge.frameworks.get(owner.framework)
    return owner.kind == DEVICE and known is not None and not known.asynchronous_cpu


def with_narrowed(
    frame: Frame, test: cst.BaseExpression, holds: bool, node: cst.BaseExpression
) -> Value:
    """Evaluate `node` in boolean context, knowing how `test` came out."""
    before = dict(frame.env)
    narrow(frame, test, holds)
    value = truth(frame, node)
    frame.env = merge(before, frame.env) if frame.env.keys() != before.keys() else before
    return value


def narrow(frame: Frame, test: cst.BaseExpression, holds: bool) -> None:
    """Learn from a test that came out `holds`: isinstance tells what a variable is."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        narrow(frame, test.expression, not holds)
    elif type(test) is cst.BooleanOperation:
        if (type(test.operator) is cst.And) == holds:
            narrow(frame, test.left, holds)
            narrow(frame, test.right, holds)
    elif type(test) is cst.Attribute and test.attr.value in ("is_cuda", "is_cpu"):
        path = dotted(test.value)
        known = frame.env.get(path, UNKNOWN_VALUE)
        if known.kind == DEVICE and holds == (test.attr.value == "is_cpu"):
            frame.note(path, known._replace(kind=HOST_ARRAY))
    elif type(test) is cst.Call and dotted(test.func) == "isinstance" and len(test.args) == 2:
        _narrow_isinstance(frame, dotted(test.args[0].value), test.args[1].value, holds)


def asks_whether_on_device(test: cst.BaseExpression) -> bool:
    """Whether a test holds for what is not in host memory: `x.is_cuda`, `x.device != "cpu"`."""
    if type(test) is cst.Attribute:
        return test.attr.value == "is_cuda"
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    wanted = {cst.NotEqual: "cpu", cst.Equal: "cuda"}.get(type(target.operator))
    told = target.comparator
    asked = dotted(test.left).removesuffix(".type").endswith(".device")
    return asked and type(told) is cst.SimpleString and told.value[1:-1] == wanted


def _narrow_isinstance(frame: Frame, path: str, types: cst.BaseExpression, holds: bool) -> None:
    if not path:
        return
    nodes = [e.value for e in types.elements] if type(types) is cst.Tuple else [types]
    with frame.quiet():
        kinds = [_checked_type(frame, node) for node in nodes]
    current = frame.env.get(path, UNKNOWN_VALUE)
    if holds:
        known = [kind for kind in kinds if kind.kind != UNKNOWN]
        if len(known) == len(kinds) == 1 and current.kind == known[0].kind == DEVICE:
            frame.note(path, current._replace(confidence=max(current.confidence, MEDIUM)))
        elif current.kind == HOST_ARRAY and current.framework in {kind.framework for kind in known}:
            return  # a tensor in host memory is one as well
        elif known and len(known) == len(kinds) and current.kind != known[0].kind:
            value = known[0]
            for other in known[1:]:
                value = join(value, other)
            if value.kind == CONTAINER and value.element is None and current.kind != CONTAINER:
                value = container(current)
            unsure = current.kind == UNKNOWN and value.kind not in (HOST, HOST_ARRAY)
            keep = current.params if unsure else frozenset()
            name = WHEREVER if value.kind == DEVICE else value.name
            frame.note(path, weaken(value, MEDIUM)._replace(params=keep, name=name))
        elif not known and hinted_at(frame, path, current).kind == DEVICE:
            for same in (path, *_aliases(frame, path)):
                frame.note(same, Value(INSTANCE))  # of a class of its own, whatever usage suggests
    elif any(kind.kind == current.kind == DEVICE for kind in kinds):
        sure = current.confidence >= MEDIUM
        frame.note(path, HOST_VALUE if sure else Value(params=current.params))
    elif current.kind == UNKNOWN and current.params and any(map(_is_tensor, nodes)):
        frame.note(path, Value(name=ANSWER))  # no array, whatever its name suggests


def _is_tensor(node: cst.BaseExpression) -> bool:
    """Whether a type is that of all tensors, and no kind of them."""
    return dotted(node).rpartition(".")[2] == "Tensor"


def _aliases(frame: Frame, path: str) -> list[str]:
    """Return the other names of a parameter that `path` holds: after `original = x`, `x`."""
    params = frame.env[path].params if path in frame.env else frozenset()
    if len(params) != 1:
        return []
    return [other for other, value in frame.env.items() if value.params == params]


_COLLECTIONS = frozenset({"dict", "Mapping", "MutableMapping", "OrderedDict", "Sequence"})
_PLAIN_TYPES = naming(r"scalar|number|(int(eger)?|float|str(ing)?)_types?$", re.IGNORECASE)


def _checked_type(frame: Frame, node: cst.BaseExpression) -> Value:
    name = dotted(node).rpartition(".")[2]
    if name in _COLLECTIONS:
        return container(None)
    value = type_value(frame, node)
    return HOST_VALUE if value.kind == UNKNOWN and _PLAIN_TYPES(name) else value


def type_value(frame: Frame, node: cst.BaseExpression, depth: int = 0) -> Value:
    """Return what an annotation or class expression says about its instances."""
    if type(node) is cst.SimpleString and depth < 3:
        inner = parse_type(str(ast.literal_eval(node.value)))
        return type_value(frame, inner, depth + 1) if inner is not None else UNKNOWN_VALUE
    if type(node) is cst.BinaryOperation and type(node.operator) is cst.BitOr:
        left = type_value(frame, node.left, depth + 1)
        right = type_value(frame, node.right, depth + 1)
        return _union([left, right])
    if type(node) is cst.Subscript and depth < 6:
        return _generic(frame, node, depth)
    if type(node) is cst.Name and node.value == "None":
        return NONE_VALUE
    known = frame.analysis.types if frame.parent is None else None
    path = dotted(node) if known is not None else ""
    if known is None or not path:
        return _type_of(frame, node)
    if path not in known:
        known[path] = _type_of(frame, node)
    return known[path]


def _type_of(frame: Frame, node: cst.BaseExpression) -> Value:
    """Return what an instance of the class is that an expression names."""
    value = evaluate(frame, node)
    if value.kind == CLASS:
        return _instance_kind(value)
    if value.kind == SYMBOL:
        return type_of_name(frame, value.name)
    return UNKNOWN_VALUE


HOST_TYPES = frozenset(
    {"int", "float", "bool", "str", "complex", "bytes", "dict", "object", "type", "slice", "range"}
)


def type_of_name(frame: Frame, name: str) -> Value:
    """Return what an instance of the imported or builtin class `name` is."""
    if name in HOST_TYPES:
        return Value(HOST, name=name) if name not in ("dict", "object") else UNKNOWN_VALUE
    if name in ("list", "tuple", "set"):
        return container(None)
    if found := frame.analysis.knowledge.types.find(name):
        return Value(found[0], found[1])
    cls = frame.analysis.foreign_class(name)
    return _instance_kind(Value(CLASS, ref=cls)) if cls else UNKNOWN_VALUE


def _union(values: list[Value]) -> Value:
    known = [v for v in values if v.name != "None"]
    if len(known) == 1:
        return known[0]
    kinds = {v.kind for v in known}
    if kinds == {DEVICE}:
        return known[0]
    if kinds <= {HOST}:
        return HOST_VALUE if known else NONE_VALUE
    if DEVICE in kinds:
        return weaken(next(v for v in known if v.kind == DEVICE), LOW)
    return UNKNOWN_VALUE


def _generic(frame: Frame, node: cst.Subscript, depth: int) -> Value:
    """`Optional[T]`, `list[T]`, `tuple[T, ...]`, `dict[K, V]`, and their like."""
    head = dotted(node.value).rpartition(".")[2]
    arguments = [e.slice.value for e in node.slice if type(e.slice) is cst.Index]
    inner = [type_value(frame, a, depth + 1) for a in arguments]
    if head in ("Optional", "Union"):
        return _union(inner)
    if head in ("Annotated", "Final", "ClassVar") and inner:
        return inner[0]
    if head in ("Tuple", "tuple") and inner and type(arguments[-1]) is not cst.Ellipsis:
        return container(None, tuple(inner))
    if head in ("Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"):
        return container(inner[-1] if inner else None)._replace(name=DICT)
    if head in ("List", "list", "Sequence", "Tuple", "tuple", "Set", "set", "Iterable", "Iterator",
                "Generator", "Collection", "FrozenSet", "deque", "Deque"):  # fmt: skip
        return container(inner[0] if inner else None)
    base = evaluate(frame, node.value)
    return type_of_name(frame, base.name) if base.kind == SYMBOL else UNKNOWN_VALUE


def _instance_kind(value: Value) -> Value:
    """Return the instance of a checked class: a model if it inherits from one."""
    cls: ClassInfo = value.ref
    for base in cls.family():
        for parent in base.bases:
            if parent.kind not in (CLASS, UNKNOWN, SYMBOL):
                return Value(parent.kind, parent.framework, ref=cls)
    return Value(INSTANCE, ref=cls)


def instance_of(cls: ClassInfo) -> Value:
    """Return an instance of a checked class."""
    return _instance_kind(Value(CLASS, ref=cls))


# ---- names and attributes


@handles(cst.Name)
def name(frame: Frame, node: cst.Name) -> Value:
    """A variable, a builtin, or something that a star import may have brought."""
    found = frame.lookup(node.value)
    if found is not None:
        return hinted_at(frame, node.value, found)
    if node.value in ("True", "False"):
        return literal(node.value == "True")
    if node.value == "None":
        return NONE_VALUE
    starred = frame.analysis.from_star_imports(node.value)
    if starred is not None:
        return starred
    hinted = frame.hint(node.value)
    return hinted if hinted.kind != UNKNOWN else symbol(node.value)


def hinted_at(frame: Frame, path: str, known: Value) -> Value:
    """Return a variable's value; where little is known, what usage and its name say of it."""
    if known.kind in CALLABLE and known.confidence == NAMED and frame.trains:
        return known._replace(confidence=MEDIUM)  # a name that was copied outside the loop
    if known.kind != UNKNOWN and (known.kind != DEVICE or known.confidence >= MEDIUM):
        return known
    if known.name == READ and not known.params:
        return known  # usage and its name tell of what it was before it was read
    hinted = frame.hint(path, named=known.name != ANSWER)
    if hinted.kind == UNKNOWN or (known.kind == DEVICE and hinted.kind != DEVICE):
        return known
    if known.kind == DEVICE:
        return known._replace(confidence=max(known.confidence, hinted.confidence))
    return from_params(hinted, known.params)


@handles(cst.Attribute)
def attribute(frame: Frame, node: cst.Attribute) -> Value:
    """An attribute: what was stored at its path, else what its owner says."""
    path = dotted(node)
    if path:
        found = frame.lookup(path)
        if found is not None:
            return hinted_at(frame, path, found)
    owner = evaluate(frame, node.value)
    value = attribute_of(frame, owner, node.attr.value)
    if value.kind == UNKNOWN and value.name != ITSELF:
        hinted = frame.hint(path or f".{node.attr.value}")
        if hinted.kind != UNKNOWN:
            return hinted
    return value


_OF_ARRAYS = frozenset({"shape", "ndim"})  # of any kind
# Attributes and methods of someone's own that say what an array is like.
DESCRIBES = naming(r"_(numel|ndim|shape|dtype|device|status|names?)$")


def attribute_of(frame: Frame, owner: Value, attr: str) -> Value:
    """Return what attribute `attr` of `owner` is."""
    knowledge = frame.analysis.knowledge
    if owner.kind == SYMBOL:
        return frame.analysis.resolve(f"{owner.name}.{attr}")
    if owner.kind in (DEVICE, HOST_ARRAY):
        kind = knowledge.attributes.get(owner.framework, {}).get(attr)
        if kind is None and knowledge.methods.get(owner.framework, {}).get(attr) == HOST:
            return HOST_VALUE  # the method itself: `image.size`, of what may be no array at all
        if kind is None and DESCRIBES(attr):
            return HOST_VALUE
        if kind is None:
            return part_of(owner) if attr[0] != "_" else UNKNOWN_VALUE
        if kind == HOST:
            given = owner.kind == DEVICE and bool(owner.params)
            return Value(HOST, name=PLACE) if given and attr == "device" else HOST_VALUE
        return owner._replace(kind=kind)
    if isinstance(owner.ref, ClassInfo):
        return _class_attribute(frame, owner, attr)
    if owner.kind == UNKNOWN and attr in _OF_ARRAYS:
        return HOST_VALUE
    if owner.kind == UNKNOWN and owner.params:
        tables = (knowledge.attributes, knowledge.methods)
        if any(t[f].get(attr) == HOST for t in tables for f in frame.analysis.frameworks):
            return HOST_VALUE
        if found := knowledge.by_attribute(attr, frame.analysis.frameworks):
            return Value(*found, MEDIUM, params=owner.params)
        return Value(name=PART, params=owner.params)
    if owner.kind == CONTAINER:
        for key, value in owner.fields:
            if key == attr:
                return value
    if kind := knowledge.part(owner.framework, owner.kind, attr):
        return Value(kind, owner.framework, MEDIUM)
    if owner.kind == UNKNOWN and (found := knowledge.by_attribute(attr, frame.analysis.frameworks)):
        return Value(*found, MEDIUM)
    return UNKNOWN_VALUE


def _class_attribute(frame: Frame, owner: Value, attr: str) -> Value:
    cls: ClassInfo = owner.ref
    for base in cls.family():
        known: Value | None = base.module.attribute(base, attr)
        if known is not None:
            return known
        if attr in base.annotations:
            with frame.quiet():
                declared = type_value(base.module.frame, base.annotations[attr])
            if frame.analysis.knowledge.functional_of((declared.framework,)):
                declared = weaken(declared, LOW) if declared.kind == DEVICE else declared
            base.attributes[attr] = declared
            return declared
    method = cls.lookup(attr)
    if method is not None:
        if method.is_property:
            frame.call(method)
            result: Value = method.module.summary(method).result
            return result
        return Value(FUNCTION, ref=method, element=owner)
    return UNKNOWN_VALUE


# ---- constants


@handles(cst.Integer, cst.Float)
def number(frame: Frame, node: cst.Integer | cst.Float) -> Value:
    """A number."""
    try:
        text = node.value
        return literal(int(text, 0) if type(node) is cst.Integer else float(text))
    except ValueError:
        return HOST_VALUE


@handles(cst.SimpleString)
def string(frame: Frame, node: cst.SimpleString) -> Value:
    """A string; its text matters where it names a device."""
    if len(node.value) > 80:
        return HOST_VALUE
    if node.value[0] in "'\"" and "\\" not in node.value:
        return literal(node.value[1:-1])
    try:
        text = ast.literal_eval(node.value)
    except (ValueError, SyntaxError):
        return HOST_VALUE
    return literal(text) if isinstance(text, str) else HOST_VALUE


@handles(cst.Imaginary, cst.Ellipsis)
def other_constant(frame: Frame, node: cst.CSTNode) -> Value:
    """Any other constant."""
    return HOST_VALUE


@handles(cst.FormattedString)
def f_string(frame: Frame, node: cst.FormattedString) -> Value:
    """An f-string formats each value in it."""
    for part in node.parts:
        if type(part) is cst.FormattedStringExpression:
            value = evaluate(frame, part.expression)
            protocol = "__repr__" if part.conversion else "__format__"
            protocol_site(frame, protocol, part.expression, value)
            if part.format_spec:
                for spec in part.format_spec:
                    if type(spec) is cst.FormattedStringExpression:
                        evaluate(frame, spec.expression)
    return HOST_VALUE


@handles(cst.ConcatenatedString)
def concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    """Adjacent string literals."""
    evaluate(frame, node.left)
    evaluate(frame, node.right)
    return HOST_VALUE


# ---- displays


@handles(cst.Tuple, cst.List)
def sequence(frame: Frame, node: cst.Tuple | cst.List) -> Value:
    """A tuple or list remembers each element while it is short."""
    items: list[Value] = []
    starred = False
    for element in node.elements:
        value = evaluate(frame, element.value)
        if type(element) is cst.StarredElement:
            starred = True
            value = element_of(frame, value)
        items.append(value)
    element_value = _join_all(items)
    exact = not starred and 0 < len(items) <= 12
    name = TUPLE if type(node) is cst.Tuple else ""
    return Value(CONTAINER, name=name, element=element_value, items=tuple(items) if exact else None)


@handles(cst.Set)
def set_display(frame: Frame, node: cst.Set) -> Value:
    """A set."""
    return container(_join_all([evaluate(frame, e.value) for e in node.elements]))


@handles(cst.Dict)
def dict_display(frame: Frame, node: cst.Dict) -> Value:
    """A dict remembers the values of its literal keys."""
    fields: dict[str, Value] = {}
    values: list[Value] = []
    for element in node.elements:
        value = evaluate(frame, element.value)
        if type(element) is cst.StarredDictElement:
            values.append(value.element or UNKNOWN_VALUE)
            fields.update(value.fields)
            continue
        key = evaluate(frame, element.key) if type(element) is cst.DictElement else HOST_VALUE
        frame.hand_over(value)  # one of them is chosen and called
        values.append(value)
        if isinstance(key.literal, str):
            fields[key.literal] = value
    return Value(CONTAINER, name=DICT, element=_join_all(values), fields=tuple(fields.items()))


def _join_all(values: list[Value]) -> Value | None:
    """Return one value for all elements: a device value among them makes it one."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result


def element_of(frame: Frame, value: Value) -> Value:
    """Return what iterating over `value` yields."""
    if value.kind == CONTAINER:
        if value.name == DICT:
            return UNKNOWN_VALUE  # its keys
        if value.element is not None:
            return value.element
        if value.items:
            return _join_all(list(value.items)) or UNKNOWN_VALUE
        return UNKNOWN_VALUE
    if value.kind in ARRAYS:
        return part_of(value) if value.name != STRUCTURE else value
    if value.kind == "loader":
        return batch(frame, value)
    if value.kind == UNKNOWN:
        return value._replace(name=PART) if value.params else value
    if value.kind == HOST and value.name != "None":  # which is something else by then
        return HOST_VALUE
    return UNKNOWN_VALUE


def batch(frame: Frame, loader: Value) -> Value:
    """Return what a loader yields: on the device already, where the CPU is asynchronous too."""
    known = frame.analysis.knowledge.frameworks.get(loader.framework)
    if known is not None and "loader" not in known.types and "loader" not in known.returns:
        return Value(HOST_ARRAY, "numpy", loader.confidence)  # it has none: someone else's
    if known is not None and known.asynchronous_cpu:
        return Value(DEVICE, loader.framework, loader.confidence)
    return Value(HOST_ARRAY, loader.framework, loader.confidence, BATCH)


def unpacked(frame: Frame, value: Value, count: int) -> list[Value]:
    """Return what unpacking `value` into `count` targets gives each."""
    if value.items is not None and len(value.items) == count and value.kind != EITHER:
        return list(value.items)
    part = element_of(frame, value)
    if part.kind == DEVICE and not part.name:
        known = frame.analysis.knowledge.frameworks.get(part.framework)
        if known is None or known.asynchronous_cpu:
            part = part._replace(name=STRUCTURE)  # batches and functions out of sight give it
    return [part] * count


# ---- comprehensions


@handles(cst.ListComp, cst.SetComp, cst.GeneratorExp)
def comprehension(frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
    """A comprehension is a loop that collects."""
    return container(_comprehend(frame, node.for_in, node.elt))


@handles(cst.DictComp)
def dict_comprehension(frame: Frame, node: cst.DictComp) -> Value:
    """A dict comprehension collects its values."""
    return container(_comprehend(frame, node.for_in, node.value, node.key))._replace(name=DICT)


def _comprehend(frame: Frame, clause: cst.CompFor, *elements: cst.BaseExpression) -> Value:
    saved = dict(frame.env)
    opened = 0
    current: cst.CompFor | None = clause
    while current is not None:
        opened += 1
        open_comprehension_loop(frame, current, *elements)
        for condition in current.ifs:
            truth(frame, condition.test)
            narrow(frame, condition.test, True)
        current = current.inner_for_in
    results = [evaluate(frame, element) for element in elements]
    for _ in range(opened):
        frame.loops.pop()
    frame.env = saved
    return results[0]


def open_comprehension_loop(
    frame: Frame, clause: cst.CompFor, *elements: cst.BaseExpression
) -> None:
    """Bind a `for` clause's targets and push its loop."""
    from asyncguard.lint.builtin_calls import loop_element, source_of
    from asyncguard.lint.loops import goes_over_keys

    iterable = evaluate(frame, clause.iter)
    record = LoopRecord(clause, comprehension=True, transparent=True)
    origin = source_of(iterable)
    if origin.kind == "loader":
        record.loader = origin.confidence
        known = frame.analysis.knowledge.frameworks.get(origin.framework)
        record.placed = known is not None and known.asynchronous_cpu
    frame.loops.append(record)
    element = loop_element(frame, iterable)
    if iterable.kind == DEVICE and goes_over_keys(clause.iter, clause.target, *elements):
        element = HOST_VALUE
    bind_target(frame, clause.target, element)


def bind_target(frame: Frame, target: Any, value: Value) -> None:
    """Assign `value` to a target without noting sites of the target itself."""
    if type(target) is cst.Name:
        frame.bind(target.value, value)
        return
    if type(target) in SEQUENCES:
        elements = target.elements
        if any(type(e) is cst.StarredElement for e in elements):
            each = element_of(frame, value)
            for e in elements:
                starred = type(e) is cst.StarredElement
                bind_target(frame, e.value, container(each) if starred else each)
            return
        for e, v in zip(elements, unpacked(frame, value, len(elements)), strict=True):
            bind_target(frame, e.value, v)
        return
    if type(target) is cst.StarredElement:
        bind_target(frame, target.value, container(element_of(frame, value)))
    elif path := dotted(target):
        frame.bind(path, value)


# ---- operators


def _learn_place(frame: Frame, node: cst.BaseExpression, value: Value, other: Value) -> None:
    """Learn that a variable is in host memory, for it is combined with a tensor that is for sure.

    A framework whose CPU computes at once does not mix the two.
    """
    if value.kind != UNKNOWN or other.kind != HOST_ARRAY or type(node) is not cst.Name:
        return
    known = frame.analysis.knowledge.frameworks.get(other.framework)
    if other.confidence == HIGH and known is not None and not known.asynchronous_cpu:
        frame.note(node.value, Value(HOST_ARRAY, other.framework, MEDIUM, params=value.params))


@handles(cst.BinaryOperation)
def binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    """Arithmetic stays on the device; `%` on a string formats."""
    left = evaluate(frame, node.left)
    right = evaluate(frame, node.right)
    _learn_place(frame, node.left, left, right)
    _learn_place(frame, node.right, right, left)
    operator = type(node.operator)
    if operator is cst.Modulo and _is_text(node.left):
        _percent_format(frame, node.right, right)
        return HOST_VALUE
    if isinstance(left.literal, str) or isinstance(right.literal, str):
        return HOST_VALUE  # only strings are added to strings
    bits = operator in _BITS
    times = operator is cst.Multiply and left.name == right.name
    result = combine(left, right, mask=(bits or times) and MASK in (left.name, right.name))
    if result.kind == DEVICE:
        frame.operation(result.framework)
        frame.event("work", node, result.framework)
    return result


def _is_text(node: cst.BaseExpression) -> bool:
    """Whether an expression is a text in the source, of several joined or repeated ones too."""
    if type(node) is cst.BinaryOperation and type(node.operator) in _JOINING:
        return _is_text(node.left) or _is_text(node.right)
    return type(node) is cst.SimpleString


def _percent_format(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    if type(node) is not cst.Tuple:
        protocol_site(frame, "__format__", node, value)
        return
    for element, item in zip(node.elements, value.items or _held(frame, node), strict=False):
        protocol_site(frame, "__format__", element.value, item)


def _held(frame: Frame, node: cst.Tuple) -> list[Value]:
    """Return what a tuple holds: of `*values` one of them."""
    with frame.quiet():
        return [
            element_of(frame, value) if type(element) is cst.StarredElement else value
            for element in node.elements
            for value in [evaluate(frame, element.value)]
        ]


def combine(left: Value, right: Value, *, mask: bool = False) -> Value:
    """Return what an operator makes of two operands."""
    params = left.params | right.params
    for one, other in ((left, right), (right, left)):
        if one.name == ITSELF:
            return other
        if one.kind == DEVICE:
            if other.kind == CONTAINER and one.confidence < MEDIUM:
                continue  # a list, more likely: those are added to lists
            if other.kind == DEVICE:
                confidence = max(left.confidence, right.confidence)
            else:
                confidence = one.confidence
            sure = other.kind == DEVICE and other.name != HINTED
            doubt = HINTED if one.name == HINTED and not sure else ""
            return Value(DEVICE, one.framework, confidence, MASK if mask else doubt, params=params)
    if left.kind == CONTAINER or right.kind == CONTAINER:
        return _combine_containers(left, right)
    for one in (left, right):
        if one.kind == HOST_ARRAY:
            return one._replace(params=params, name=MASK if mask else "")
    if left.kind == right.kind == HOST:
        return weaken(HOST_VALUE, min(left.confidence, right.confidence))
    return Value(params=params, name=MASK if mask else "")


def _combine_containers(left: Value, right: Value) -> Value:
    elements = [v.element for v in (left, right) if v.kind == CONTAINER and v.element is not None]
    plain = all(v.name == TUPLE or v.kind == HOST for v in (left, right))
    return container(_join_all(elements))._replace(name=TUPLE if plain else "")


@handles(cst.UnaryOperation)
def unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    """`not` reads its operand; the others keep it where it is."""
    if type(node.operator) is cst.Not:
        truth(frame, node.expression)
        return HOST_VALUE
    value = evaluate(frame, node.expression)
    if isinstance(value.literal, (int, float)) and type(node.operator) is cst.Minus:
        return literal(-value.literal)
    if type(node.operator) is cst.BitInvert and value.kind in ARRAYS:
        return value._replace(name=MASK)
    return value


@handles(cst.BooleanOperation)
def boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    """`a or b` reads `a`, and yields one of the two; in `a or {}` it is no array."""
    reads = type(node.operator) is cst.And or not _holds_others(node.right)
    left = (truth if reads else evaluate)(frame, node.left)
    before = dict(frame.env)
    narrow(frame, node.left, type(node.operator) is cst.And)
    right = evaluate(frame, node.right)
    frame.env = before
    return join(left, right)


def _holds_others(node: cst.BaseExpression) -> bool:
    """Whether this is a dict or a list."""
    if type(node) is cst.Call:
        return dotted(node.func) in ("dict", "list", "set")
    return type(node) is cst.Dict or type(node) is cst.List


@handles(cst.Comparison)
def comparison(frame: Frame, node: cst.Comparison) -> Value:
    """A comparison of device values is a device mask; a chain of them reads all but the last."""
    left = evaluate(frame, node.left)
    result = HOST_VALUE
    for index, target in enumerate(node.comparisons):
        right = evaluate(frame, target.comparator)
        result = _compare(frame, node, target.operator, left, right)
        if index < len(node.comparisons) - 1:
            protocol_site(frame, "__bool__", node, result)
        left = right
    return result


def _describes(node: cst.BaseExpression) -> bool:
    """Whether an expression is what an array is like, which compares with nothing but its kind."""
    if type(node) is cst.Call:
        return not node.args and dotted(node.func).rpartition(".")[2] == "type"
    return type(node) is cst.Attribute and node.attr.value in ("shape", "dtype", "device")


_NO_ARRAYS = frozenset({CLASS, FUNCTION, INSTANCE, MODEL})


def _is_member(frame: Frame, value: Value) -> bool:
    """Whether this is a member of one of a framework's classes: `GroupMember.WORLD`."""
    owner = value.name.rpartition(".")[0].rpartition(".")[2] if value.kind == SYMBOL else ""
    return owner[:1].isupper() and bool(frame.analysis.knowledge.framework_of(value.name))


def _compare(
    frame: Frame, node: cst.Comparison, operator: cst.BaseCompOp, left: Value, right: Value
) -> Value:
    sides = (node.left, *(target.comparator for target in node.comparisons))
    if type(operator) in IDENTITY or any(map(_describes, sides)):
        return HOST_VALUE
    if type(operator) in _MEMBERSHIP:
        named = type(sides[-1]) is cst.Attribute  # `in x.labels` is found by its name
        if right.kind == DEVICE and not isinstance(left.literal, str) and not named:
            protocol_site(frame, "__contains__", node, right, whole=True)
        if left.kind == DEVICE and left.confidence == HIGH and holds_numbers(right):
            protocol_site(frame, "__bool__", node, left)
        return HOST_VALUE
    equal = type(operator) in (cst.Equal, cst.NotEqual)
    for side in (left, right):
        if isinstance(side.literal, str) or side.name == "str":
            return HOST_VALUE
        if equal and (side.name == "None" or side.kind in _NO_ARRAYS or _is_member(frame, side)):
            return HOST_VALUE
    if left.kind == CONTAINER or right.kind == CONTAINER:
        return HOST_VALUE
    return combine(left, right, mask=True)


def holds_numbers(value: Value) -> bool:
    """Whether this is a list or tuple of numbers that are written there."""
    listed = value.kind == CONTAINER and value.items
    return bool(listed) and all(
        isinstance(item.literal, (int, float)) for item in value.items or ()
    )


@handles(cst.IfExp)
def conditional(frame: Frame, node: cst.IfExp) -> Value:
    """A conditional expression reads its test and yields either branch."""
    truth(frame, node.test)
    before = dict(frame.env)
    narrow(frame, node.test, True)
    guard_true, guard_false = guard_of(frame, node.test)
    left_out, given = (asked_for(frame, node.test, asked) for asked in (cst.Is, cst.IsNot))
    with frame.guarded(guard_true, left_out):
        chosen = evaluate(frame, node.body)
    frame.env = dict(before)
    narrow(frame, node.test, False)
    with frame.guarded(guard_false, given):
        other = evaluate(frame, node.orelse)
    frame.env = before
    if chosen.kind == other.kind == SYMBOL:
        return _either_symbol(frame, chosen, other)
    result = join(chosen, other)
    return from_params(result, result.params | left_out | given) if result.params else result


def asked_for(
    frame: Frame, test: cst.BaseExpression, operator: type[cst.BaseCompOp]
) -> frozenset[int]:
    """Return `~p` of the parameter of which this asks if a call leaves it out: `p is None`."""
    if type(test) is not cst.Comparison or type(test.comparisons[0].operator) is not operator:
        return NO_PARAMS
    path = dotted(test.left)
    value = frame.env.get(path)
    if value is None or len(value.params) != 1 or dotted(test.comparisons[0].comparator) != "None":
        return NO_PARAMS
    index = next(iter(value.params))
    parameters = frame.function.parameters if frame.function is not None else ()
    if not 0 <= index < len(parameters) or parameters[index].name != path:
        return NO_PARAMS
    return frozenset({~index}) if parameters[index].may_be_none else NO_PARAMS


def _either_symbol(frame: Frame, one: Value, other: Value) -> Value:
    """Return the name of what makes device values, where the other makes the like on the host."""
    returns = frame.analysis.knowledge.returns
    for chosen, left in ((one, other), (other, one)):
        made, instead = returns.find(chosen.name), returns.find(left.name)
        if made and instead and (made[0], instead) == (DEVICE, (HOST_ARRAY, made[1])):
            return chosen
    return join(one, other)


# ---- the rest


@handles(cst.Lambda)
def lambda_(frame: Frame, node: cst.Lambda) -> Value:
    """A lambda is a function that is analysed where it is called."""
    info = FunctionInfo(
        "<lambda>",
        frame.function.qualname,
        node,
        frame.analysis,
        closure=frame,
        unit=frame.function.unit,
    )
    scan(info, frame.analysis.knowledge, frame.analysis.frameworks)
    return Value(FUNCTION, ref=info)


@handles(cst.NamedExpr)
def walrus(frame: Frame, node: cst.NamedExpr) -> Value:
    """`name := value` binds and yields."""
    value = evaluate(frame, node.value)
    bind_target(frame, node.target, value)
    return value


@handles(cst.Await)
def await_(frame: Frame, node: cst.Await) -> Value:
    """What is awaited."""
    return evaluate(frame, node.expression)


@handles(cst.Yield)
def yield_(frame: Frame, node: cst.Yield) -> Value:
    """A generator's elements are joined into what iterating it yields."""
    if type(node.value) is cst.From:
        frame.yields.append(element_of(frame, evaluate(frame, node.value.item)))
    elif node.value is not None:
        frame.yields.append(evaluate(frame, node.value))
    return UNKNOWN_VALUE


@handles(cst.Subscript)
def subscript(frame: Frame, node: cst.Subscript) -> Value:
    """Indexing: an element of a container, or a device view that may itself block."""
    path = _subscript_path(node)
    owner = evaluate(frame, node.value)
    indices = [_index(frame, element.slice) for element in node.slice]
    chosen_by = list(zip(node.slice, indices, strict=True))
    chosen = any(
        i.kind == DEVICE and index_cost(frame, e.slice, i) == MASK_INDEX for e, i in chosen_by
    )  # no list takes one, and no array in host memory
    if path and (stored := frame.lookup(path)) is not None and stored.kind != UNKNOWN:
        return stored
    if owner.kind == DEVICE:
        index_sites(frame, node, owner, indices)
        if owner.name == STRUCTURE and all(i.literal is not None for i in indices):
            return owner
        part = part_of(owner)
        return part._replace(confidence=max(part.confidence, MEDIUM)) if chosen else part
    if owner.kind == HOST_ARRAY and not (owner.confidence < HIGH and chosen):
        number = owner.name == INDICES and all(i.kind == HOST and not i.name for i in indices)
        for index in indices:
            if index.kind == DEVICE and owner.framework == "numpy":
                protocol_site(frame, "__array__", node, index)
        return HOST_VALUE if number else part_of(owner)
    if owner.kind == CONTAINER:
        item = _container_item(frame, node, owner, indices)
        told = item.kind == UNKNOWN and path and owner.framework  # by its name
        return frame.hint(path) if told else item
    if owner.kind == HOST and owner.name not in ("None", "slice"):
        return owner if owner.literal is not None else HOST_VALUE
    if owner.kind in (UNKNOWN, HOST_ARRAY) and chosen:
        index_sites(frame, node, device(_framework_of(indices), MEDIUM), indices)
        return device(_framework_of(indices), MEDIUM)  # what a mask on the device can choose from
    if owner.kind == SYMBOL and frame.analysis.knowledge.framework_of(owner.name) == "numpy":
        return Value(HOST_ARRAY, "numpy")  # `np.r_[0:4, 5:n]`
    if owner.kind == SYMBOL and owner.name == "sys.modules" and _is_own_name(node):
        return symbol(frame.analysis.module_name)
    if (chosen_from := _compared(frame, owner, indices)) is not None:
        index_sites(frame, node, chosen_from, indices)
        return chosen_from
    if owner.kind == UNKNOWN and owner.params:
        if any(index_cost(frame, e.slice, i) == MASK_INDEX for e, i in chosen_by):
            operator_site(frame, "mask-read", node, Value(params=owner.params))
        return Value(params=owner.params)
    if path:
        return frame.hint(path)
    return UNKNOWN_VALUE


def _compared(frame: Frame, owner: Value, indices: list[Value]) -> Value | None:
    """Return what an unknown comparison chooses from: an array, on the device in a step.

    Of the only framework in the file, if that knows of no other arrays.
    """
    analysis = frame.analysis
    if owner.kind != UNKNOWN or all(i.kind != UNKNOWN or i.name != MASK for i in indices):
        return None
    if not analysis.is_alone:
        return None
    return device(analysis.frameworks[0], MEDIUM if frame.trains else NAMED, owner.params)


def _framework_of(values: list[Value]) -> str:
    return next(value.framework for value in values if value.kind == DEVICE)


def _is_own_name(node: cst.Subscript) -> bool:
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return type(index) is cst.Index and dotted(index.value) == "__name__"


def _subscript_path(node: cst.Subscript) -> str:
    """Name `d["key"]` as a path, so that hints and assignments find it."""
    base = dotted(node.value)
    if base and len(node.slice) == 1 and type(node.slice[0].slice) is cst.Index:
        key = node.slice[0].slice.value
        if type(key) is cst.SimpleString:
            return f"{base}.{key.raw_value}"
    return ""


def _index(frame: Frame, node: cst.BaseSlice) -> Value:
    if type(node) is cst.Index:
        return evaluate(frame, node.value)
    result = HOST_VALUE
    if type(node) is cst.Slice:
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                value = evaluate(frame, bound)
                told = value.confidence < MEDIUM and value.name == WHEREVER
                if value.kind == DEVICE and not told:
                    operator_site(frame, "slice-bound", bound, value)
    return result._replace(name="slice")


def _container_item(frame: Frame, node: cst.Subscript, owner: Value, indices: list[Value]) -> Value:
    index = indices[0] if len(indices) == 1 else HOST_VALUE
    if index.name == "slice":
        return container(element_of(frame, owner))
    key = index.literal
    if isinstance(key, str):
        for name_, value in owner.fields:
            if name_ == key:
                return value
        if owner.fields:  # what the other keys hold says nothing of this one
            return UNKNOWN_VALUE
    if (
        isinstance(key, int)
        and owner.items is not None
        and -len(owner.items) <= key < len(owner.items)
    ):
        return owner.items[key]
    if owner.name == DICT:
        return owner.element if owner.element is not None else UNKNOWN_VALUE
    if index.kind == DEVICE and index.name != STRUCTURE:  # which may be a dict's key
        protocol_site(frame, "__index__", node, index)
    return element_of(frame, owner)


def index_sites(frame: Frame, node: cst.Subscript, owner: Value, indices: list[Value]) -> None:
    """Note what indexing a device value with such indices costs."""
    for element, index in zip(node.slice, indices, strict=True):
        how = index_cost(frame, element.slice, index)
        if how == MASK_INDEX:
            read = (index if index.kind == DEVICE else weaken(owner, MEDIUM))._replace(name="")
            if index.kind == owner.kind == DEVICE and (index.name == MASK or _in_module(frame)):
                read = read._replace(confidence=max(read.confidence, MEDIUM))  # no list takes one
            operator_site(frame, "mask-read", node, read._replace(framework=owner.framework))
        elif how == UPLOADED_INDEX and not _may_be_numpy(frame, owner):
            operator_site(frame, "index-upload", node, _indexed(owner, index))


def _in_module(frame: Frame) -> bool:
    """Whether this is a module's, in a file of one framework: what that is given is there."""
    cls = frame.function.cls if frame.function is not None else None
    return cls is not None and frame.analysis.is_alone and instance_of(cls).kind in CALLABLE


def chosen_from_device(frame: Frame, node: cst.Subscript, framework: str) -> None:
    """Note what an index costs into something unknown of which a part is given to a model."""
    with frame.quiet():
        indices = [_index(frame, element.slice) for element in node.slice]
    if any(index.kind == HOST_ARRAY and index.framework == framework for index in indices):
        index_sites(frame, node, device(framework, MEDIUM), indices)


def _may_be_numpy(frame: Frame, owner: Value) -> bool:
    """Whether what is indexed may as well be an array of NumPy's, which has the same methods."""
    alike = frame.analysis.knowledge.dispatches(owner.framework)
    return alike and owner.name in (WHEREVER, HINTED)


def _indexed(owner: Value, index: Value) -> Value:
    """Return what is indexed, as sure as both are known; a tensor indexes nothing but tensors."""
    parts = (index, *(index.items or ()))
    if any(part.kind == HOST_ARRAY and part.framework == owner.framework for part in parts):
        owner = owner._replace(confidence=max(owner.confidence, MEDIUM))
    return weaken(owner, index.confidence if index.kind != UNKNOWN else MEDIUM)


MASK_INDEX, UPLOADED_INDEX, DEVICE_INDEX, FREE_INDEX = "mask", "upload", "device", ""
_MASK_NAME = naming(
    r"(^|_)(masks?|dones?)(_|$)(?!.*(idx|inds?|index|indices|ids?|num)$)", re.IGNORECASE
)


def index_cost(frame: Frame, node: cst.BaseSlice, index: Value) -> str:
    """Return what kind of index this is, as far as its costs go."""
    if index.kind == CONTAINER:
        return _sequence_cost(index)
    if index.kind == HOST_ARRAY:
        return UPLOADED_INDEX if index.name != MASK and not _is_element(frame, node) else FREE_INDEX
    named = index.name != INDICES and _MASK_NAME(_chooser(frame, node))
    named = named and _has_masks(frame, index)
    if index.kind in (DEVICE, UNKNOWN) and (index.name == MASK or named):
        return MASK_INDEX
    if index.kind == DEVICE:
        known = index.confidence == HIGH and index.name not in (WHEREVER, STRUCTURE, HINTED)
        return DEVICE_INDEX if known or index.name == INDICES else FREE_INDEX  # it may be a mask
    if index.kind == UNKNOWN and samples(frame, node):
        return UPLOADED_INDEX
    return FREE_INDEX


def _has_masks(frame: Frame, index: Value) -> bool:
    """Whether the framework of an index has functions that make masks; others may mean indices."""
    frameworks = (index.framework,) if index.framework else frame.analysis.frameworks
    known = (frame.analysis.knowledge.frameworks.get(framework) for framework in frameworks)
    return any(framework is not None and framework.masks is not None for framework in known)


def _chooser(frame: Frame, node: cst.BaseSlice) -> str:
    """Return the last name of what an index is made of, by methods that keep a mask one."""
    inner = node.value if type(node) is cst.Index else None
    keeps = frame.analysis.knowledge.keeps_masks
    while type(inner) is cst.Call and type(inner.func) is cst.Attribute:
        if not any(inner.func.attr.value in keeps.get(f, ()) for f in frame.analysis.frameworks):
            return ""
        inner = inner.func.value
    if type(inner) is cst.Subscript:
        return _subscript_path(inner).rpartition(".")[2]
    return dotted(inner).rpartition(".")[2] if inner is not None else ""


def _is_element(frame: Frame, node: cst.BaseSlice) -> bool:
    """Whether an index is what a loop goes over, one by one: a number, if its name says no more."""
    name = dotted(node.value) if type(node) is cst.Index else ""
    return not _SAMPLED(name) and any(name in loop.targets for loop in frame.loops)


def _sequence_cost(index: Value) -> str:
    """Return what a tuple or list costs as an index: a tuple of indices is as many of them."""
    parts = [*(index.items or ()), *([index.element] if index.element is not None else [])]
    if any(part.name == "slice" for part in parts):
        return FREE_INDEX
    on_device = any(part.kind == DEVICE for part in parts)
    if index.name != TUPLE:
        return DEVICE_INDEX if on_device else UPLOADED_INDEX
    if any(part.kind in _UPLOADED for part in parts):
        return UPLOADED_INDEX
    return DEVICE_INDEX if on_device else FREE_INDEX


_UPLOADED = frozenset({CONTAINER, HOST_ARRAY})


_SAMPLED = naming(r"(^|_)(batch|ids|idx|idxs|inds|indices|perm)(_|$)", re.IGNORECASE)


def samples(frame: Frame, node: cst.BaseSlice) -> bool:
    """Whether an index of unknown kind is what a training loop draws from a sampler of indices."""
    name = dotted(node.value) if type(node) is cst.Index else ""
    drawn = any(name in loop.targets for loop in frame.loops if loop.strong)
    return drawn and _SAMPLED(name)


def operator_site(frame: Frame, operator: str, node: cst.CSTNode, value: Value) -> None:
    """Note a subscript that blocks."""
    for framework in (value.framework,) if value.framework else frame.analysis.frameworks:
        point = frame.analysis.knowledge.sync_operators.get((framework, operator))
        if point is not None:
            frame.site(point, node, value, subject=node)
            return
