"""Pages that mkdocs makes from the program itself: rules, settings, commands, the trace's schema.

A hook of mkdocs.yml. What stands in the code is not written down twice: a page is as new as the
code that it was built from. Figures come from benchmarks/results; pictures.py makes the pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
RESULTS = ROOT / "benchmarks" / "results"
SECONDS = re.compile(r"\[\[seconds (\w+) \| ([^\]]+)\]\]")

import figures  # noqa: E402  # beside this file, which mkdocs loads by its path

from asyncguard.cli import build_parser  # noqa: E402
from asyncguard.lint.report import registry  # noqa: E402
from asyncguard.lint.report.registry import Example, Rule  # noqa: E402
from asyncguard.lint.run.settings import DOCUMENTED, Settings  # noqa: E402
from asyncguard.render.settings import written  # noqa: E402


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the page of each rule below the table of all."""
    rules = ["rules/index.md", *(f"rules/{rule.code}.md" for rule in registry.rules())]
    config.nav = [{"Rules": rules} if "Rules" in entry else entry for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made."""
    for name, text in made().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in figures and measured times; raises KeyError for one that no result holds."""
    seconds = _results("chapter.json")["seconds"]

    def time(found: re.Match[str]) -> str:
        value: float = seconds[found[1]][found[2]]
        return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"

    return SECONDS.sub(time, figures.filled(markdown))


def made() -> dict[str, str]:
    """Return the pages by their names below docs/."""
    rules = registry.rules()
    pages = {f"rules/{rule.code}.md": rule_page(rule) for rule in rules}
    pages["rules/index.md"] = rules_page(rules)
    pages["reference/configuration.md"] = configuration_page()
    pages["reference/commands.md"] = commands_page()
    pages["reference/trace.md"] = trace_page()
    pages["changelog.md"] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return pages


def rules_page(rules: list[Rule]) -> str:
    """Return the table of all rules."""
    rows = [
        f"| [{r.code}]({r.code}.md) | {r.name} | {r.summary} | {'yes' if r.default else ''} | "
        f"{'yes' if r.fixable else ''} |"
        for r in rules
    ]
    head = [
        "# Rules",
        "",
        "`asyncguard explain CODE` prints one of these pages; `extend-select` turns on a rule that "
        "is off by default.",
        "",
        "| code | name | finds | default | safe or unsafe fix |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


def rule_page(rule: Rule) -> str:
    """Return the page of one rule: its explanation, what it reports and what it leaves alone."""
    blocks = [f"# {rule.code} {rule.name}", _linked(rule.explanation)]
    on = "It runs by default." if rule.default else f"It runs if selected: `--select {rule.code}`."
    fix = " Some of what it finds can be repaired with `--fix`." if rule.fixable else ""
    blocks.append(f"*{on}{fix}*")
    if rule.invalid:
        blocks += ["## Reported", *(_example(example) for example in rule.invalid[:6])]
    if rule.valid:
        blocks += ["## Left alone", *(_python(source) for source in rule.valid[:6])]
    return "\n\n".join(blocks) + "\n"


def _example(example: Example) -> str:
    shown = _python(example.source)
    if example.fixed:
        word = "`--fix`" if example.safe else "`--fix --unsafe-fixes`"
        shown += f"\n\nAfter {word}:\n\n{_python(example.fixed)}"
    return shown


def _python(source: str | Example) -> str:
    text = source if isinstance(source, str) else source.source
    return f"```python\n{text.rstrip()}\n```"


def _linked(text: str) -> str:
    return re.sub(r"(?<![<(`])(https://\S+)", r"<\1>", text)


def configuration_page() -> str:
    """Return every setting with its default and meaning."""
    defaults = Settings(root=Path())
    blocks = [
        "# Configuration",
        "In `pyproject.toml` under `[tool.asyncguard]`, or in `asyncguard.toml` without that "
        "prefix. Each file is checked under the settings nearest to it; `--config FILE` names "
        "one for all, and `asyncguard check --show-settings` prints them. Options of the command "
        "line win. A mistyped key is an error that names the likeliest one.",
    ]
    for name, says in DOCUMENTED.items():
        default = getattr(defaults, name.replace("-", "_"))
        shown = "" if default is None else f"\n\nDefault: `{written(default)}`"
        blocks.append(f"## `{name}`\n\n{says}{shown}")
    return "\n\n".join(blocks) + "\n"


def commands_page() -> str:
    """Return the help of each command, as the program prints it."""
    os.environ["COLUMNS"] = "100"
    parser = build_parser()
    blocks = ["# Command line", _help(parser)]
    for name, command in _commands(parser):
        blocks += [f"## asyncguard {name}", _help(command)]
    return "\n\n".join(blocks) + "\n"


def _help(parser: argparse.ArgumentParser) -> str:
    return f"```text\n{parser.format_help().rstrip()}\n```"


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def trace_page() -> str:
    """Return the trace's schema as tables."""
    path = ROOT / "asyncguard" / "runtime" / "trace.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    blocks = [
        "# Traces",
        f"{schema['description']} One JSON object, written by `asyncguard run`, `trace.save` and "
        "the callbacks, read by `asyncguard report`, `diff` and `gate`. The JSON schema "
        "ships with the package: `asyncguard/runtime/trace.schema.json`.",
        _properties("The trace", schema),
    ]
    blocks += [_properties(f"`{name}`", part) for name, part in schema.get("$defs", {}).items()]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _kind(item: dict[str, Any]) -> str:
    """Return a schema's type in words."""
    if "$ref" in item:
        return f"`{item['$ref'].rpartition('/')[2]}`"
    if "enum" in item:
        return "one of " + ", ".join(map(str, item["enum"]))
    return str(item.get("type", "any"))


def _properties(title: str, part: dict[str, Any]) -> str:
    if "properties" not in part:
        return ""
    needed = part.get("required", [])
    rows = [f"## {title}", "", "| key | type | meaning |", "| --- | --- | --- |"]
    for name, item in part["properties"].items():
        kind = " or ".join(map(_kind, item.get("anyOf", [item])))
        must = "" if name in needed else " (optional)"
        rows.append(f"| `{name}` | {kind}{must} | {_cell(item.get('description', ''))} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _results(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))
