"""The server: which tools there are, what they may do to the machine, which arguments are wrong.

Speaks the Model Context Protocol over standard input and output.
"""

from __future__ import annotations

import json
from inspect import getdoc
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from mcp_types import Tool as ToolInfo
from pydantic import ValidationError

from asyncguard.lint.selectors import did_you_mean
from asyncguard.mcp.root import Root
from asyncguard.mcp.tools import Tools
from asyncguard.version import __version__

INSTRUCTIONS = """\
asyncguard finds where a deep-learning program makes Python wait for the device, and says whether a
change made that better.

1. `run` the program with name "before" (`repeat` if it prints times): waits a step, the places that
   wait, what to do about each. Short runs do: a dozen steps. It EXECUTES the program, on a
   simulated GPU unless you say otherwise.
2. `check` the files that waited: each finding has its evidence, a remedy, and often the edits of a
   repair. `patch="safe"` gives all safe repairs as one diff; read what unsafe ones may change.
   `predict` says what a change would save before you make it.
3. Edit. Then `run` with name "after" and compare_to="before". The verdict is what to optimise:
   "8 -> 1 waits a step, outputs equal". Undo what makes outputs differ.
4. `gate` holds the result against the project's baseline.

Answers are short: `left` says how much more there is. Only `run` executes code; nothing edits your
files."""

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
EXECUTES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)


class Server(MCPServer[Any]):
    """An MCP server that takes the arguments that it describes, and no others."""

    async def list_tools(self) -> list[ToolInfo]:
        """List the tools; their input schemas say that there are no other arguments."""
        tools: list[ToolInfo] = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; raises ToolError that names the argument and the remedy."""
        tools = {tool.name: tool for tool in await super().list_tools()}
        if name not in tools:
            raise ToolError(f"no tool {name!r}; the tools are {', '.join(tools)}")
        known = tools[name].input_schema["properties"]
        for given in arguments:
            if given not in known:
                meant = did_you_mean(given, known) or f"; it takes {', '.join(known)}"
                raise ToolError(f"{name}: no argument {given!r}{meant}")
        try:
            return _short(await super().call_tool(name, arguments, context))
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {_mistakes(error.__cause__)}") from error
            raise ToolError(f"{name}: {error.__cause__ or error}") from error


def _short(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """Say the same as text, for clients that read no structured results, without indentation."""
    if isinstance(result, CallToolResult) and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
        result.content = [TextContent(type="text", text=text)]
    return result


def _mistakes(error: ValidationError) -> str:
    """Say of each argument what is wrong with it."""
    said = []
    for mistake in error.errors():
        where = ".".join(str(part) for part in mistake["loc"])
        said.append(f"{where}: {mistake['msg']}")
    return "; ".join(said)


def made(folder: Path) -> Server:
    """Return the server for a root; raises AsyncguardError where there is no such folder."""
    server = Server(
        "asyncguard", title="asyncguard", version=__version__, instructions=INSTRUCTIONS,
        log_level="WARNING",
    )  # fmt: skip
    tools = Tools(Root(folder))
    for tool in (tools.check, tools.explain, tools.report, tools.predict, tools.diff, tools.gate):
        server.add_tool(tool, description=getdoc(tool), annotations=READS)
    server.add_tool(tools.run, description=getdoc(tools.run), annotations=EXECUTES)
    return server


def main(folder: Path) -> int:
    """Serve over standard input and output until the client leaves."""
    made(folder).run("stdio")
    return 0
