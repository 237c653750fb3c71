"""What the names in a program suggest, as data: the families of `rules/names.toml`."""

from asyncguard.lint.names.families import (
    Family,
    FamilyError,
    Listed,
    More,
    extended,
    family,
    group,
    is_in_place,
    is_listed,
    own,
    singular,
    split,
)

__all__ = [
    "Family",
    "FamilyError",
    "Listed",
    "More",
    "extended",
    "family",
    "group",
    "is_in_place",
    "is_listed",
    "own",
    "singular",
    "split",
]
