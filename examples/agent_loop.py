"""A coding agent without a model: makes a program wait less, by the tools of `asyncguard mcp`.

    python examples/agent_loop.py FOLDER train.py

It runs the program, applies the repairs that `check` offers, runs it again, and keeps an edit only
if the verdict says that there are fewer waits and that the outputs are equal: all repairs at once
if that is so, else one after another. Needs asyncguard[mcp], torch and git; the device is
simulated. It EXECUTES the program, and edits files in FOLDER.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

TARGET = 2.0  # waits a step, below which the loop is content
MOST = 50  # runs
Edit = dict[str, Any]


class Loop:
    """One program, one server, and how often the program waits by now."""

    def __init__(self, client: Client, folder: Path, script: str) -> None:
        self.client, self.folder, self.script = client, folder, script
        self.waits = 0.0
        self.runs = 0

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; returns its structured result, raises RuntimeError with its error."""
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            raise RuntimeError(result.content[0].text)
        return dict(result.structured_content)

    async def improve(self) -> float:
        """Repair the program; returns the waits a step that are left."""
        first = await self.call("run", script=self.script, name="before")
        print(f"before: {first['verdict']}")
        self.waits = first["report"]["waits_per_step"]
        found = await self.call("check", paths=[self.script], patch="unsafe", limit=1)
        if found["patch"] and await self.keeps("all repairs", self.patched, found["patch"]):
            return self.waits
        refused: set[tuple[str, str]] = set()
        while self.waits >= TARGET and self.runs < MOST:
            chosen = await self.offered(refused)
            if chosen is None:
                break
            place = f"{chosen['path']}:{chosen['line']} {chosen['code']}"
            if not await self.keeps(place, self.edited, chosen["repair"]["edits"]):
                refused.add((chosen["source"], chosen["code"]))
        return self.waits

    async def offered(self, refused: set[tuple[str, str]]) -> dict[str, Any] | None:
        """Return a finding whose repair is complete and has not been tried."""
        for finding in (await self.call("check", paths=[self.script], limit=50))["findings"]:
            repair = finding["repair"]
            tried = (finding["source"], finding["code"]) in refused
            if repair and repair["applicability"] != "shown" and not tried:
                return finding
        return None

    async def keeps(self, name: str, change: Any, how: Any) -> bool:
        """Make a change, run the program, and take the change back if it is not for the better."""
        file = self.folder / self.script
        before = file.read_text(encoding="utf-8")
        change(how)
        self.runs += 1
        run = await self.call(
            "run", script=self.script, name=f"try-{self.runs}", compare_to="before"
        )
        told = run["comparison"]
        better = run["ended"] == "finished" and told["better"] and told["waits_after"] < self.waits
        print(f"{name}: {'kept' if better else 'undone'}: {run['verdict']}")
        if better:
            self.waits = told["waits_after"]
        else:
            file.write_text(before, encoding="utf-8")
        return better

    def patched(self, patch: str) -> None:
        """Apply a patch."""
        command = ["git", "apply", "--recount", "-"]
        subprocess.run(command, cwd=self.folder, input=patch, text=True, check=True)

    def edited(self, edits: list[Edit]) -> None:
        """Apply the edits of one repair, the last place first."""
        file = self.folder / self.script
        text = file.read_text(encoding="utf-8")
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for edit in sorted(edits, key=lambda e: (e["line"], e["column"]), reverse=True):
            begin = starts[edit["line"] - 1] + edit["column"]
            end = starts[edit["end_line"] - 1] + edit["end_column"]
            text = text[:begin] + edit["text"] + text[end:]
        file.write_text(text, encoding="utf-8")


async def main(folder: str, script: str) -> int:
    """Improve a program; returns 0 if it waits less than TARGET times a step in the end."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "asyncguard", "mcp", "--root", folder]
    )
    async with Client(stdio_client(server)) as client:
        waits = await Loop(client, Path(folder), script).improve()
    return 0 if waits < TARGET else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
