"""What the names in a program suggest, as data: the families of `rules/names.toml`."""

from asyncguard.lint.names.families import Family, FamilyError, family, group, split

__all__ = ["Family", "FamilyError", "family", "group", "split"]
