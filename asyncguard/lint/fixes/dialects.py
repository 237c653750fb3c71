"""How each framework writes what repairs need. A framework that lacks a form has none of it."""

from __future__ import annotations

from typing import NamedTuple

from asyncguard.lint.fixes.code import Code


class Dialect(NamedTuple):
    """The forms of one framework; `{}` is the text of a value, `{module}` how the file names it.

    `module` is tried first to last. `wide` makes a scalar that sums like Python's floats, `exact`
    says whether it does so bit for bit. `stack` reads several values of one type at once, `lists`
    a list of scalars.
    """

    modules: tuple[str, ...]
    wide: str
    exact: bool
    plain: str = "{}"
    reshape: str = "{}.reshape(())"
    stack: str = ""
    detach: str = ""


DIALECTS = {
    "torch": Dialect(
        ("torch",), "{}.detach().double()", True, "{}.detach()", "{}.reshape(())",
        "{module}.stack([{values}]).tolist()", ".detach()",
    ),
    "mxnet": Dialect(
        ("mxnet.np", "mxnet.numpy"), "{}.detach().astype('float64')", True, "{}.detach()",
        "{}.reshape(())", "{module}.stack([{values}]).tolist()", ".detach()",
    ),
    "jax": Dialect(("jax",), "{}", False, "{}", "{}.reshape(())"),
    "tensorflow": Dialect(
        ("tensorflow",), "{module}.cast({value}, {module}.float64)", True, "{}", "",
        "{module}.stack([{values}]).numpy().tolist()",
    ),
    "cupy": Dialect(
        ("cupy",), "{}.astype('float64')", True, "{}", "{}.reshape(())",
        "{module}.stack([{values}]).tolist()",
    ),
}  # fmt: skip


def module_name(code: Code, dialect: Dialect) -> str | None:
    """Return how the file names the framework; None if it does not import it as a whole."""
    for module in dialect.modules:
        if (name := code.name_for(module)) is not None:
            return name
        parent, _, last = module.partition(".")
        if last and (name := code.name_for(parent)) is not None:
            return f"{name}.{last}"
    return None


def call(form: str, value: str, module: str | None) -> str:
    """Fill in a form of one value."""
    return form.replace("{module}", module or "").replace("{value}", value).replace("{}", value)
