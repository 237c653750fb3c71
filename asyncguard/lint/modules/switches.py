"""What a file gives its options: defaults, assignments, arguments, entries of dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from asyncguard.lint.contexts.environment import is_unset, variables_of
from asyncguard.lint.contexts.options import asked_by, is_of_options
from asyncguard.lint.source.switches import Hanging, Positional, Switches, sums_of
from asyncguard.lint.syntax.tree import dotted, expressions, key_of, text_of, walk_expressions


def switches(tree: cst.Module) -> Switches:
    """Return what a file gives its options."""
    given: tuple[set[str], ...] = set(), set(), set(), set()
    hanging: set[Hanging] = set()
    said: set[str] = set()
    worded: set[str] = set()
    renamed: set[str] = set()
    classes, asking = _Classes(), set[int]()
    for node, under in _walk(tree):
        kind = type(node)
        if kind in _ASKING:
            asking.update(map(id, _ASKING[kind](node)))
        elif kind is cst.SimpleString and id(node) not in asking:
            said.update(_word(node))
        if id(node) not in asking:
            classes.note(node, kind)
        unset = _unset_in(node, kind)
        given[_OFF].update(unset)
        given[_FALSE].update(unset)
        if kind not in _GIVING:
            continue
        by = classes.making.get(id(node), "")
        for name, value, starts in _given_by(node, kind):
            if _is_word(value):
                worded.add(name)
            if _is_renamed(name, value):
                renamed.add(name)
            for what, option, when in _of_value(name, value, starts):
                if under or when or by:
                    hanging.add(Hanging(what, option, under | when, by))
                else:
                    given[what].add(option)
    open_ = (each for each in hanging if each.name not in given[each.what])
    made, handed = frozenset(classes.made), frozenset(classes.handed)
    off, true, false, other = map(frozenset, given)
    places = frozenset(classes.passed), frozenset(classes.taken)
    rest = frozenset(open_), made, handed, frozenset(worded), frozenset(renamed), *places
    return Switches(off, true, false, other, *rest, sums_of(said))


def _unset_in(node: Any, kind: type[Any]) -> frozenset[str]:
    """Return the variables of the environment that this reads, where they are off if not set."""
    asks = kind is cst.Call or kind is cst.Comparison
    return variables_of(node) if asks and is_unset(node) else frozenset()


def _is_renamed(name: str, value: cst.CSTNode) -> bool:
    """Whether a value is an option of another name."""
    return is_of_options(value) and not _hands_on(name, value)


def _is_word(value: cst.CSTNode) -> bool:
    """Whether a value is a word, or the constant of one."""
    return text_of(value) is not None or (type(value) is cst.Name and value.value.isupper())


def _compared(node: cst.Comparison) -> Iterator[cst.CSTNode]:
    for side in (node.left, *(target.comparator for target in node.comparisons)):
        yield from walk_expressions(side)


def _types_asked(node: cst.Call) -> Iterator[cst.CSTNode]:
    if type(node.func) is cst.Name and node.func.value in ("isinstance", "issubclass", "super"):
        for argument in node.args:
            yield from walk_expressions(argument)


def _texts(node: cst.Decorator) -> Iterator[cst.CSTNode]:
    return (part for part in walk_expressions(node) if type(part) is cst.SimpleString)


def _exported(node: cst.Assign) -> Iterable[cst.CSTNode]:
    named = {_last(target.target) for target in node.targets}
    return walk_expressions(node.value) if "__all__" in named else ()


# Words and classes that only ask, declare, or say what there is to choose from.
_ASKING: dict[type[Any], Any] = {
    cst.Assign: _exported,
    cst.Decorator: _texts,
    cst.Comparison: _compared,
    cst.Annotation: walk_expressions,
    cst.Call: _types_asked,
    cst.DictElement: lambda node: (node.key,),
    cst.SubscriptElement: walk_expressions,
    cst.MatchValue: walk_expressions,
    cst.Arg: lambda node: (
        walk_expressions(node.value) if node.keyword and node.keyword.value == "choices" else ()
    ),
}


_OFF, _TRUE, _FALSE, _OTHER = range(4)


def _given_by(node: Any, kind: type[Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield the options that a node gives something, and what; whether that is so at first."""
    if kind is cst.Call:
        yield from ((name, value, True) for name, value in _declared(node))
    starts = kind not in _CALLS
    yield from ((name, value, starts) for name, value in _GIVING[kind](node))


def _of_value(name: str, value: Any, starts: bool) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield the fields of `Switches` and the names in them that giving an option a value adds.

    With the options that this needs to be on: what the environment sets is another such option.
    """
    if type(value) is cst.Call:
        default = _default_of(name, value)
        value = value if default is None else default
    always = frozenset[str]()
    ways = (value.body, value.orelse) if type(value) is cst.IfExp else (value,)
    off = any(map(_is_off, ways))
    if off:
        unset = [name, *variables_of(value)]
        yield from ((_FALSE, each, always) for each in unset)
        yield from ((_OFF, each, always) for each in unset if starts or each != name)
    if type(value) is cst.Name and value.value == "True":
        yield _TRUE, name, always
    elif off or not _hands_on(name, value):
        yield from ((_OTHER, name, needed) for needed in _needs(value))


def _needs(value: Any) -> Iterable[frozenset[str]]:
    """Return the options that must be on for a value to be on, for each way that it may be."""
    if _is_off(value):
        return [frozenset({variable}) for variable in variables_of(value)]
    if type(value) is cst.IfExp and _is_off(value.body) != _is_off(value.orelse):
        return [asked_by(value.test, _is_off(value.orelse)).switches]
    return [asked_by(value, True).switches if type(value) in _ASKED else frozenset()]


# What is on only where options are: `self.fast = args.quick and not args.exact`.
_ASKED = frozenset(
    {
        cst.Name,
        cst.Attribute,
        cst.Subscript,
        cst.BooleanOperation,
        cst.UnaryOperation,
        cst.Comparison,
    }
)


def _walk(tree: cst.Module) -> Iterator[tuple[Any, frozenset[str]]]:
    """Yield all nodes, the outer before the inner, with the options that each hangs on."""
    found: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    for node, under in found:
        yield node, under
        if type(node) is cst.If:
            found.append((node.test, under))
            found.append((node.body, under | asked_by(node.test, True).switches))
            if node.orelse is not None:
                found.append((node.orelse, under | asked_by(node.test, False).switches))
        else:
            found += [(part, under) for part in expressions(node)]


class _Classes:
    """Who makes classes, which Python writes with a capital, and what all calls hand them."""

    def __init__(self) -> None:
        self.making: dict[int, str] = {}  # classes, by the ids of what makes one takes
        self.passed: set[Positional] = set()
        self.taken: set[Positional] = set()
        self._calls: dict[str, set[str]] = {}
        self._called: set[int] = set()

    @property
    def made(self) -> Iterable[str]:
        return self._calls

    @property
    def handed(self) -> Iterator[tuple[str, str]]:
        return ((name, option) for name, options in self._calls.items() for option in options)

    def note(self, node: Any, kind: type[Any]) -> None:
        """Note a class, a call, or another use of a name."""
        if kind is cst.ClassDef:
            for statement in node.body.body:
                if type(statement) is cst.FunctionDef and statement.name.value == "__init__":
                    self._takes(node.name.value, statement.params)
        elif kind is cst.Call:
            self._called.add(id(node.func))
            self._use(_last(node.func), {name for name, _ in _keywords(node)})
            self._passes(_last(node.func), node.args)
        elif kind in _NAMING and id(node) not in self._called:
            self._use(_last(node), set())

    def _takes(self, owner: str, parameters: cst.Parameters) -> None:
        self.making[id(parameters)] = owner
        after_self = (*parameters.posonly_params, *parameters.params)[1:]
        places = enumerate(each.name.value for each in after_self)
        self.taken.update(Positional(owner, index, name) for index, name in places)

    def _passes(self, owner: str, arguments: Sequence[cst.Arg]) -> None:
        if not owner[:1].isupper() or any(each.star for each in arguments):
            return
        for index, each in enumerate(arguments):
            if each.keyword is None and dotted(each.value) == "True":
                self.passed.add(Positional(owner, index, ""))
            elif each.keyword is None and is_of_options(each.value):
                self.passed.add(Positional(owner, index, _last(each.value)))

    def _use(self, name: str, options: set[str]) -> None:
        if name[:1].isupper() and name not in _CONSTANTS:
            self._calls[name] = self._calls.get(name, options) & options


_NAMING = frozenset({cst.Name, cst.Attribute})
_CALLS = (cst.Call, cst.Dict)
_CONSTANTS = frozenset({"None", "True", "False"})


def _word(node: cst.SimpleString) -> tuple[str, ...]:
    text = text_of(node) or ""
    return (text,) if text and " " not in text else ()


def _defaults(node: cst.Parameters) -> Iterator[tuple[str, Any]]:
    for given in (*node.posonly_params, *node.params, *node.kwonly_params):
        if given.default is not None and not _is_array(given.annotation):
            yield given.name.value, given.default


def _assigned(node: cst.Assign) -> Iterator[tuple[str, Any]]:
    for target in node.targets:
        if name := _last(target.target):
            yield name, node.value


def _declared_with(node: cst.AnnAssign) -> Iterator[tuple[str, Any]]:
    name = _last(node.target)
    if node.value is not None and name and not _is_array(node.annotation):
        yield name, node.value


def _changed(node: cst.AugAssign) -> Iterator[tuple[str, Any]]:
    if name := _last(node.target):
        yield name, node


def _keywords(node: cst.Call) -> Iterator[tuple[str, Any]]:
    yield from ((a.keyword.value, a.value) for a in node.args if a.keyword is not None)


def _entries(node: cst.Dict) -> Iterator[tuple[str, Any]]:
    for element in node.elements:
        key = text_of(element.key) if type(element) is cst.DictElement else None
        if key is not None:
            yield key, element.value


# The names that a node gives a value.
_GIVING: dict[type[Any], Any] = {
    cst.Parameters: _defaults,
    cst.Assign: _assigned,
    cst.AnnAssign: _declared_with,
    cst.AugAssign: _changed,
    cst.Call: _keywords,
    cst.Dict: _entries,
}


def _declared(call: cst.Call) -> Iterator[tuple[str, Any]]:
    """Yield the option that a call declares to a parser of a command line, with its default.

    `add_argument("--debug", action="store_true")`, `click.option("--rate", default=0)`, and
    `DEFINE_bool("debug", False, ...)`.
    """
    given = [a.value for a in call.args if a.keyword is None and a.star != "**"]
    words = [text for text in map(text_of, given) if text is not None]
    if not words:
        return
    if _last(call.func).startswith("DEFINE_"):
        if len(given) > 1:
            yield words[0], given[1]
        return
    option = next((word for word in words if word.startswith("--")), "")
    if not option:
        return
    keywords = dict(_keywords(call))
    default = keywords.get("default")
    if default is None:
        default = _BY_ACTION.get(text_of(keywords.get("action")) or "")
    if default is not None:
        kept = keywords.get("dest")
        dest = option if kept is None else text_of(kept) or option
        yield dest.lstrip("-").replace("-", "_"), default


_BY_ACTION = {"store_true": cst.Name("False"), "store_false": cst.Name("True")}


def _is_array(annotation: cst.Annotation | None) -> bool:
    """Whether a type is one of arrays, `None` or not: that is data, and no option."""
    names = map(_last, walk_expressions(annotation)) if annotation is not None else ()
    return any(name.lower().endswith(("array", "tensor")) for name in names)


def _last(target: cst.CSTNode) -> str:
    if type(target) is cst.Attribute:
        return target.attr.value
    if type(target) is cst.Subscript:
        return key_of(target)
    return target.value if type(target) is cst.Name else ""


_FIELDS = frozenset({"field", "Field", "Option", "Argument", "ib", "attrib"})


def _is_off(value: cst.CSTNode) -> bool:
    match value:
        case cst.Name(value=name):
            return name == "None" or name == "False"
        case cst.Integer() | cst.Float() | cst.Imaginary():
            return not value.evaluated_value
        case cst.Call(func=func, args=args) if _last(func) in _FIELDS:
            default = [a.value for a in args if a.keyword and a.keyword.value == "default"]
            default = default or [a.value for a in args[:1] if not a.keyword and not a.star]
            return any(map(_is_off, default))
        case cst.BooleanOperation(left=left, operator=connective, right=right):
            parts = map(_is_off, (left, right))
            return all(parts) if type(connective) is cst.Or else any(parts)
    return is_unset(value)


def _hands_on(name: str, value: cst.CSTNode) -> bool:
    """Whether a value is what another place holds under the same name, or that or something off."""
    match value:
        case cst.Name() | cst.Attribute() | cst.Subscript():
            return _last(value) == name
        case cst.BooleanOperation(left=left, right=right):
            return all(_hands_on(name, part) or _is_off(part) for part in (right, left))
        case cst.Call(func=func, args=[given]) if type(func) is cst.Name and func.value in _TYPES:
            return _hands_on(name, given.value)
        case cst.Call():
            asked, default = _looked_up(value)
            looks = text_of(asked) == name and _last(value.func) in _LOOKING
            return looks and (default is None or _is_off(default))
    return False


_TYPES = frozenset({"bool", "int", "float"})
_LOOKING = frozenset({"get", "pop", "getattr"})


def _default_of(name: str, call: cst.Call) -> Any:
    """Return the default of a call that looks an option up under its name; None if it has none.

    `options.get(name, 0)`, `getattr(args, name, False)`, `self.setting(name, default=None)`.
    """
    asked, default = _looked_up(call)
    return default if text_of(asked) == name else None


def _looked_up(call: cst.Call) -> tuple[Any, Any]:
    """Return the name that a call looks up, and the default it gives; None for each it has not."""
    given = [a.value for a in call.args if a.keyword is None and not a.star]
    given = given[1:] if _last(call.func) == "getattr" else given
    asked, default, *_ = (*given, None, None)
    return asked, dict(_keywords(call)).get("default") if default is None else default
