"""`asyncguard demo`, `lsp`, `mcp` and `completions`: commands with hardly any options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asyncguard import extras, screens
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError

SHELLS = ("bash", "zsh", "fish", "tcsh")
FILES = ("PATH", "FILE", "DIR", "TRACE", "SCRIPT", "BEFORE", "AFTER", "FOLDER")


def add(commands: Any) -> None:
    """Add the commands."""
    add_command(
        commands,
        "demo",
        _demo,
        "",
        help="show every command on real code",
        description="Lint a real library, trace real frameworks, and gate a new wait.",
        page="demo.md",
    )
    add_command(
        commands,
        "lsp",
        _lsp,
        "",
        help="start the language server for editors",
        description="Speak the Language Server Protocol over standard input and output: findings "
        "while you type, explanations, repairs. Needs the extra 'lsp'.",
        page="guides/editors.md",
    )
    _add_mcp(commands)
    _add_completions(commands)


def _add_mcp(commands: Any) -> None:
    parser = add_command(
        commands,
        "mcp",
        _mcp,
        "[OPTIONS]",
        help="start the server of tools for coding agents",
        description="Offer check, explain, run, report, predict, diff and gate to coding agents, "
        "by the Model Context Protocol over standard input and output. Only `run` executes code. "
        "Needs the extra 'mcp'.",
        examples=("--root ~/src/project",),
        page="agents.md",
    )
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=Path(),
        help="folder that the tools may name files in (default: this one)",
    )  # fmt: skip


def _add_completions(commands: Any) -> None:
    parser = add_command(
        commands,
        "completions",
        _completions,
        "[OPTIONS] SHELL",
        help="print a shell's completions",
        description="Print a script that completes asyncguard's commands, options and files. Needs "
        "the extra 'completions'.",
        examples=(
            "bash > ~/.local/share/bash-completion/completions/asyncguard",
            'zsh > "${fpath[1]}/_asyncguard"',
        ),
        page="install.md",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def _demo(arguments: argparse.Namespace) -> int:
    from asyncguard.demo import main as demo

    return demo()


def _lsp(arguments: argparse.Namespace) -> int:
    with _needed("lsp", "pygls", "lsprotocol"):
        from asyncguard import lsp
    return lsp.main()


def _mcp(arguments: argparse.Namespace) -> int:
    with _needed("mcp", "mcp", "mcp_types", "pydantic"):
        from asyncguard.mcp import server
    return server.main(arguments.root)


def _completions(arguments: argparse.Namespace) -> int:
    with _needed("completions", "shtab"):
        import shtab
    for action in _actions(arguments.parser):
        if any(name in str(action.metavar) for name in FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    screens.write(sys.stdout, shtab.complete(arguments.parser, arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of all commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


@contextmanager
def _needed(extra: str, *modules: str) -> Iterator[None]:
    """Say in one line which extra a command needs, where it is missing."""
    try:
        with extras.needs(extra, *modules):
            yield
    except ModuleNotFoundError as error:
        raise AsyncguardError(f"{extra}: {error}") from error
