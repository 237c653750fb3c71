"""A real `asyncguard mcp` in a process of its own, and the SDK's client of it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests import warm
from tests.frameworks import require

require("mcp")

from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402

PATIENCE = 120.0  # seconds: then the test fails rather than hangs

TRAIN = """\
import torch


def train(device="cuda"):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0.0
    for step in range(8):
        loss = model(torch.ones(2, 4, device=device)).sum()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if torch.isnan(loss):
            raise SystemExit("nan")
    print(total)


train()
"""


class Agent:
    """The client, with results as the tools describe them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def raw(self, tool: str, **arguments: Any) -> Any:
        """Return the whole answer."""
        return await self.client.call_tool(tool, arguments)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured result of a call that must succeed."""
        answer = await self.raw(tool, **arguments)
        assert not answer.is_error, answer.content[0].text
        return dict(answer.structured_content)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Return the error of a call that must fail."""
        answer = await self.raw(tool, **arguments)
        assert answer.is_error, answer.structured_content
        return str(answer.content[0].text)


Work = Callable[[Agent], Awaitable[None]]
QUICKLY = """\
import sys
sys.executable = {executable!r}
from asyncguard.cli import main
sys.exit(main(["mcp", "--root", {root!r}]))
"""


async def served(root: Path, work: Work, cwd: Path | None = None, quickly: bool = False) -> None:
    """Start the server for a root, do the work of an agent, and leave.

    quickly: the programs that it runs begin with torch imported.
    """
    args = ["-m", "asyncguard", "mcp", "--root", str(root)]
    if quickly:
        code = QUICKLY.format(executable=warm.executable("torch"), root=str(root))
        args = ["-c", code]
    env = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    server = StdioServerParameters(
        command=sys.executable, args=args, cwd=cwd, env={**env, "OMP_NUM_THREADS": "1"}
    )
    failed: list[Exception] = []
    async with Client(stdio_client(server)) as client:
        try:
            await asyncio.wait_for(work(Agent(client)), PATIENCE)
        except Exception as error:  # noqa: BLE001  # raised once the server has gone
            failed.append(error)
    for error in failed:
        raise error


def serve(root: Path, work: Work, cwd: Path | None = None, quickly: bool = False) -> None:
    """Do the same where no event loop runs yet."""
    asyncio.run(served(root, work, cwd, quickly))


class Watch:
    """Knows of a program and its children that they run, and that none does any more."""

    def __init__(self, server: asyncio.Server) -> None:
        self.started, self.gone = asyncio.Event(), asyncio.Event()
        self.server = server

    @property
    def port(self) -> int:
        """Where they connect to."""
        return int(self.server.sockets[0].getsockname()[1])


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    """Wait for one program: each of its processes holds a connection open while it lives."""
    watch: Watch

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        watch.started.set()
        await reader.read()
        watch.gone.set()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1")
    watch = Watch(server)
    try:
        yield watch
    finally:
        server.close()


def endless(port: int) -> str:
    """Return a program that never ends, and has a child that has left its process group."""
    return f"""\
import os, socket, subprocess, sys, time
held = socket.create_connection(("127.0.0.1", {port}))
os.set_inheritable(held.fileno(), True)
code = "import time\\nwhile True: time.sleep(1)"
subprocess.Popen([sys.executable, "-c", code], close_fds=False, start_new_session=True)
print("it runs", flush=True)
held.sendall(b"started\\n")
while True:
    time.sleep(1)
"""
