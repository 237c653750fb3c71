from __future__ import annotations

import sys
import types

import pytest

from asyncguard.runtime import slots
from asyncguard.runtime.patch import MISSING, NotLoaded, Patcher, Place, find
from tests.runtime.helpers import is_sequence


class Base:
    def inherited(self) -> str:
        return "base"


class Thing(Base):
    def method(self) -> str:
        return "method"

    @staticmethod
    def static() -> str:
        return "static"

    @classmethod
    def klass(cls) -> str:
        return cls.__name__

    @property
    def prop(self) -> str:
        return "prop"

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize("name", ["method", "static", "klass", "prop", "inherited", "__len__"])
def test_what_was_replaced_is_the_very_same_object_afterwards(name: str) -> None:
    before = dict(vars(Thing))
    patcher = Patcher()
    patcher.replace(Place(Thing, name), lambda *_: 4)
    assert vars(Thing)[name] is not before.get(name)
    assert patcher.restore() == ()
    assert dict(vars(Thing)) == before
    assert all(vars(Thing)[key] is value for key, value in before.items())


def test_what_somebody_else_replaced_meanwhile_is_left_alone() -> None:
    patcher = Patcher()
    original = vars(Thing)["method"]
    patcher.replace(Place(Thing, "method"), lambda self: "ours")
    theirs = Thing.method = lambda self: "theirs"  # type: ignore[method-assign]
    (left,) = patcher.restore()
    assert str(left) == f"{__name__}.Thing.method"
    assert vars(Thing)["method"] is theirs
    Thing.method = original  # type: ignore[method-assign]


def test_an_immutable_type_is_refused_and_nothing_is_to_restore() -> None:
    patcher = Patcher()
    with pytest.raises(TypeError):
        patcher.replace(Place(int, "bit_length"), int)
    patcher.restore()


def test_a_path_leads_through_loaded_modules_and_classes() -> None:
    assert find("collections.OrderedDict.move_to_end").name == "move_to_end"  # type: ignore[union-attr]
    assert find("no_such_module.f") == NotLoaded("no_such_module")


def test_finding_a_path_imports_nothing() -> None:
    module = types.ModuleType("lazy_parent")
    module.__getattr__ = lambda name: pytest.fail("asked for a lazy attribute")  # type: ignore[method-assign]
    sys.modules["lazy_parent"] = module
    try:
        assert find("lazy_parent.child.f") == NotLoaded("lazy_parent.child")
        assert find("lazy_parent.f").effective() is MISSING  # type: ignore[union-attr]
    finally:
        del sys.modules["lazy_parent"]


class NoSequence:
    """As torch's tensors: no `__getitem__` of Python's."""


class Mapping(NoSequence):
    def __getitem__(self, key: object) -> object:
        return key


def empties() -> list[bool]:
    return [not is_sequence(kind) for kind in (NoSequence, Mapping)]


def test_a_class_that_was_no_sequence_stays_none() -> None:
    patcher = Patcher()
    assert empties() == [True, False]
    patcher.replace(Place(NoSequence, "__getitem__"), lambda self, key: "hook")
    assert empties() == [True, False]
    assert (NoSequence()[1], Mapping()[1]) == ("hook", 1)  # type: ignore[index]
    patcher.restore()
    assert empties() == [True, False]


def test_a_sequence_stays_one() -> None:
    patcher = Patcher()
    patcher.replace(Place(Mapping, "__getitem__"), lambda self, key: "hook")
    assert (empties(), Mapping()[1]) == ([True, False], "hook")
    patcher.restore()
    assert (empties(), Mapping()[1]) == ([True, False], 1)


def test_slots_that_are_elsewhere_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_SLOTS", {"__getitem__": (44, 0)})
    with pytest.raises(TypeError, match="not where CPython has them"):
        Patcher().replace(Place(Mapping, "__getitem__"), lambda self, key: "hook")
    assert Mapping()[1] == 1
