"""What is known of a dict's entries, by literal key: a map that is never changed in place.

It is a treap, whose shape follows from its keys alone. A version shares with the one before all but
the path to what differs, so that to add an entry, and to compare or merge two versions, costs what
they differ in and not what they hold: thousands of stores into one dict stay linear. Priorities are
hashes, which source code cannot choose. Iteration is in the order of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class _Node(Generic[T]):
    __slots__ = ("key", "left", "projection", "right", "unchanging", "value")

    def __init__(self, key: str, value: T, left: Tree[T], right: Tree[T]) -> None:
        self.key, self.value, self.left, self.right = key, value, left, right
        self.projection: Tree[T] = None  # what `projected` has made of this part
        self.unchanging = False  # `projected` makes nothing else of it


Tree = _Node[T] | None


class Entries(Generic[T]):
    """Values by key; a version with one more entry costs little more than that entry."""

    __slots__ = ("_root",)

    def __init__(self, entries: Iterable[tuple[str, T]] = ()) -> None:
        root: Tree[T] = None
        for key, value in entries:
            root = _put(root, key, value)
        self._root = root

    def get(self, key: str) -> T | None:
        """Return what is known of a key."""
        node = self._root
        while node is not None and node.key != key:
            node = node.left if key < node.key else node.right
        return node.value if node is not None else None

    def put(self, key: str, value: T) -> Entries[T]:
        """Return these with one entry added or replaced."""
        return _entries(_put(self._root, key, value))

    def merged(self, other: Entries[T], merge: Callable[[T, T], T]) -> Entries[T]:
        """Return the entries of both, with what both know of a key merged."""
        root = _merged(self._root, other._root, merge)
        return self if root is self._root else _entries(root)

    def mapped(self, change: Callable[[T], T]) -> Entries[T]:
        """Return these with each value changed."""
        return _entries(_mapped(self._root, change)) if self._root is not None else self

    def projected(self, change: Callable[[T], T]) -> Entries[T]:
        """Return these with each value changed as `mapped` does, always by one and the same change.

        That changes nothing the second time. What becomes of a part of the map is kept with it.
        """
        root = _projected(self._root, change)
        return self if root is self._root else _entries(root)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        above: list[_Node[T]] = []
        node = self._root
        while above or node is not None:
            while node is not None:
                above.append(node)
                node = node.left
            last = above.pop()
            yield last.key, last.value
            node = last.right

    def __bool__(self) -> bool:
        return self._root is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entries) and _equal(self._root, other._root)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Entries({list(self)!r})"


def _entries(root: Tree[T]) -> Entries[T]:
    made: Entries[T] = Entries()
    made._root = root
    return made


def _above(key: str, other: str) -> bool:
    """Whether one key stands above another, in whatever order they came."""
    return (hash(key), key) > (hash(other), other)


def _put(node: Tree[T], key: str, value: T) -> _Node[T]:
    if node is None:
        return _Node(key, value, None, None)
    if node.key == key:
        return _with(node, value, node.left, node.right)
    if _above(key, node.key):
        left, _, right = _split(node, key)
        return _Node(key, value, left, right)
    if key < node.key:
        return _with(node, node.value, _put(node.left, key, value), node.right)
    return _with(node, node.value, node.left, _put(node.right, key, value))


def _with(node: _Node[T], value: T, left: Tree[T], right: Tree[T]) -> _Node[T]:
    """Return a node with this value, and these below it: itself, if it has them already."""
    if value is node.value and left is node.left and right is node.right:
        return node
    return _Node(node.key, value, left, right)


def _split(node: Tree[T], key: str) -> tuple[Tree[T], Tree[T], Tree[T]]:
    """Return what stands before a key, at it, and after it."""
    if node is None:
        return None, None, None
    if node.key == key:
        return node.left, node, node.right
    if key < node.key:
        before, at, after = _split(node.left, key)
        return before, at, _with(node, node.value, after, node.right)
    before, at, after = _split(node.right, key)
    return _with(node, node.value, node.left, before), at, after


def _merged(one: Tree[T], other: Tree[T], merge: Callable[[T, T], T]) -> Tree[T]:
    if one is other or other is None:
        return one
    if one is None:
        return other
    if one.key != other.key and _above(other.key, one.key):
        before, at, after = _split(one, other.key)
        left, right = _merged(before, other.left, merge), _merged(after, other.right, merge)
        return _with(other, _both(at, other, merge), left, right)
    before, at, after = _split(other, one.key)
    left, right = _merged(one.left, before, merge), _merged(one.right, after, merge)
    return _with(one, _both(one, at, merge), left, right)


def _both(one: Tree[T], other: Tree[T], merge: Callable[[T, T], T]) -> T:
    if one is None or other is None:
        known = one or other
        assert known is not None
        return known.value
    return one.value if one.value is other.value else merge(one.value, other.value)


def _mapped(node: Tree[T], change: Callable[[T], T]) -> Tree[T]:
    if node is None:
        return None
    left = _mapped(node.left, change)
    value = change(node.value)  # in the order of the keys
    return _with(node, value, left, _mapped(node.right, change))


def _projected(node: Tree[T], change: Callable[[T], T]) -> Tree[T]:
    if node is None or node.unchanging:
        return node
    if node.projection is None:
        left, right = _projected(node.left, change), _projected(node.right, change)
        found = _with(node, change(node.value), left, right)
        found.unchanging = True
        if found is node:  # which is not made to hold itself
            return node
        node.projection = found
    return node.projection


def _equal(one: Tree[T], other: Tree[T]) -> bool:
    """Whether two trees hold the same; of the same keys they have the same shape."""
    if one is other:
        return True
    if one is None or other is None or one.key != other.key:
        return False
    same = one.value is other.value or one.value == other.value
    return same and _equal(one.left, other.left) and _equal(one.right, other.right)
