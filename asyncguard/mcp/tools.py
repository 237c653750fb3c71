"""The tools as agents see them: their names, arguments and results.

Each call is done by a process of its own (`children`), so that it can be stopped, and nothing that
it prints meets the protocol. Paths are checked before that process starts.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from asyncguard.mcp import children, results, shown
from asyncguard.mcp.root import AGAIN, NAME, OUTPUT, Root
from asyncguard.model import AsyncguardError

EVERY = 5.0  # seconds between notes of progress
PATIENCE = 300.0  # seconds for a tool that only reads
PROFILES = sorted(
    path.name.removesuffix(".toml")
    for path in (resources.files("asyncguard") / "sim" / "profiles").iterdir()
)
START = "import sys; del sys.path[0]; from asyncguard.mcp.worker import main; sys.exit(main())"
TAIL = 300  # characters of a process that died
Limit = Annotated[int, Field(ge=1, le=200, description="how many are returned; `left`: more")]
Paths = Annotated[
    list[str],
    Field(min_length=1, max_length=200, description="files, notebooks or folders, from the root"),
]
TraceName = Annotated[
    str, Field(min_length=1, max_length=1000, description="a run's name, or the path of a trace")
]
Place = Annotated[str, Field(max_length=1000, description="path:line, as `run` names it")]
A = TypeVar("A")
R = TypeVar("R", bound=results.Result)
_LINE = re.compile(r"(?P<path>.+?):(?P<line>[0-9]{1,9})(:[0-9]*)?")


class Tools:
    """The tools, for one root."""

    def __init__(self, root: Root) -> None:
        self.root = root

    async def check(
        self,
        paths: Paths = ["."],  # noqa: B006  # pydantic copies it
        rules: Annotated[
            list[str],
            Field(max_length=50, description="codes or names, such as ASG102; empty: the defaults"),
        ] = [],  # noqa: B006
        everything: Annotated[
            bool, Field(description="also what is rare, guarded or doubtful")
        ] = False,
        patch: Annotated[
            Literal["none", "safe", "unsafe"],
            Field(description="also return repairs as one diff; unsafe: those too that may change "
                              "what the program does"),
        ] = "none",
        limit: Limit = 10,
        offset: Annotated[int, Field(ge=0, le=1_000_000, description="skip so many")] = 0,
    ) -> results.Checked:  # fmt: skip
        """Find in source where Python waits for the device (print(loss), .item(), if t:, barriers).

        Reads only; executes and changes nothing. The findings that wait most come first, each with
        place, evidence, remedy and, where there is one, a repair with its edits.
        """
        given = [self._path(path) for path in paths]
        return await self._work(
            results.Checked, "check", paths=given, rules=rules, everything=everything,
            patch=patch, limit=limit, offset=offset,
        )  # fmt: skip

    async def explain(
        self,
        what: Annotated[
            str,
            Field(min_length=1, max_length=1000,
                  description="a rule, such as ASG102, or a line, such as train.py:31"),
        ],
        limit: Limit = 10,
    ) -> results.Explanation:  # fmt: skip
        """Explain a rule, or why a line has its findings, or has none. Reads only."""
        place = _LINE.fullmatch(what)
        path, line = (self._path(place["path"]), int(place["line"])) if place else (None, 0)
        return await self._work(
            results.Explanation, "explain", what=what, path=path, line=line, limit=limit
        )

    async def run(
        self,
        context: Context[Any, Any],
        script: Annotated[
            str | None, Field(max_length=1000, description="Python file, from the root")
        ] = None,
        module: Annotated[
            str | None,
            Field(pattern=r"^[A-Za-z_][\w.]*$", max_length=200,
                  description="a module in place of a script, as with python -m"),
        ] = None,
        args: Annotated[
            list[str], Field(max_length=200, description="the program's own arguments")
        ] = [],  # noqa: B006
        name: Annotated[
            str, Field(pattern=f"^{NAME}$", description="what the run is kept as, replacing that")
        ] = "run",
        compare_to: Annotated[
            str | None,
            Field(pattern=f"^{NAME}$", description="an earlier run to hold waits and output "
                                                   "against"),
        ] = None,
        simulate: Annotated[
            bool,
            Field(description="run PyTorch on a simulated CUDA device; false: as the machine is"),
        ] = True,
        profile: Annotated[
            str, Field(description="whose speed is modelled", json_schema_extra={"enum": PROFILES})
        ] = "h200",
        repeat: Annotated[
            bool,
            Field(description="run twice, to know which output differs from run to run anyway"),
        ] = False,
        timeout: Annotated[
            float, Field(ge=1, le=3600, description="seconds, after which the program and its "
                                                    "children are killed")
        ] = 120,
        output: Annotated[
            int, Field(ge=0, le=50_000, description="characters of each stream to return")
        ] = 2000,
        limit: Limit = 10,
    ) -> results.Run:  # fmt: skip
        """EXECUTE a program under a trace: waits a step, where, and what to do about them.

        By default on a simulated CUDA device, without a GPU: counts are true, times are modelled.
        The program can do whatever the user can; it is stopped at the timeout. The trace and the
        output are kept under .asyncguard_runs/ in the root. With compare_to the verdict is that of
        the change: "8 -> 1 waits a step, outputs equal".
        """
        if (script is None) == (module is None):
            raise ToolError("name a script or a module: one of both")
        if profile not in PROFILES:
            raise ToolError(f"profile: no {profile!r}; one of {', '.join(PROFILES)}")
        program = ["-m", str(module)] if script is None else ["--", self._path(script)]
        before = self._trace(compare_to) if compare_to is not None else None
        device = ["--sim", f"cuda:{profile}"] if simulate else []
        runs = self._runs()
        command = [*device, *program, *args]
        tell = _Progress(context, timeout * (2 if repeat else 1), str(script or module)).tell
        with tempfile.TemporaryDirectory(prefix="new-", dir=runs) as folder:
            kept = Path(folder, f"{name}.json")
            done = await self._traced(kept, command, timeout, tell)
            kept.with_suffix(OUTPUT).write_bytes(done.stdout)
            if repeat and done.status is not None:
                again = await self._traced(Path(folder, "again.json"), command, timeout, tell)
                kept.with_suffix(AGAIN).write_bytes(again.stdout)
            told = await self._answer(
                "ran", name=name, trace=str(kept) if kept.exists() else None,
                status=done.status, compare_to=compare_to, before=before, limit=limit,
            )  # fmt: skip
            trace = self.root.run(name)
            if kept.exists() and trace is not None:
                _asked(self.root.keep, folder, name)
                told["report"]["trace"] = str(trace.relative_to(self.root.folder))
        return shown.run(name, done, told, output, timeout)

    async def report(self, trace: TraceName, limit: Limit = 10) -> results.Report:
        """Show a saved trace: waits a step, the sites that cost most, suggestions. Reads only."""
        return await self._work(results.Report, "report", trace=self._trace(trace), limit=limit)

    async def predict(
        self,
        trace: TraceName,
        remove: Annotated[
            list[Place], Field(max_length=1000, description="sites that wait no more")
        ] = [],  # noqa: B006
        batch: Annotated[
            list[list[Place]],
            Field(max_length=200, description="groups of sites that one wait a step serves"),
        ] = [],  # noqa: B006
        every: Annotated[
            list[results.Pair],
            Field(max_length=200, description="sites that wait in one step of n only"),
        ] = [],  # noqa: B006
    ) -> results.Predicted:
        """Predict a step of a saved run if it waited less, before you edit it. Reads only."""
        if not (remove or batch or every):
            raise ToolError("name at least one site in remove, batch or every")
        pairs = [{"place": pair.place, "every": pair.every} for pair in every]
        return await self._work(
            results.Predicted, "predict", trace=self._trace(trace), remove=remove, batch=batch,
            every=pairs,
        )  # fmt: skip

    async def diff(self, before: TraceName, after: TraceName, limit: Limit = 10) -> results.Diff:
        """Compare two saved runs: waits, stall and step time, by site. Reads only."""
        traces = {"before": self._trace(before), "after": self._trace(after)}
        return await self._work(results.Diff, "diff", **traces, limit=limit)

    async def gate(
        self,
        paths: Paths,
        traces: Annotated[
            list[TraceName], Field(max_length=200, description="runs to compare as well")
        ] = [],  # noqa: B006
        baseline: Annotated[
            str | None,
            Field(max_length=1000, description="null: as the configuration says, else "
                                               "asyncguard-baseline.json"),
        ] = None,
        limit: Limit = 10,
    ) -> results.Gated:  # fmt: skip
        """Fail for what is new or waits more often than the baseline allows. Reads only."""
        given = [*map(self._path, paths), *map(self._trace, traces)]
        place = None if baseline is None else self._path(baseline)
        return await self._work(results.Gated, "gate", paths=given, baseline=place, limit=limit)

    def _path(self, text: str) -> str:
        return _asked(self.root.path, text)

    def _trace(self, text: str) -> str:
        return _asked(self.root.trace, text)

    def _runs(self) -> Path:
        return _asked(self.root.runs)

    async def _traced(
        self,
        trace: Path,
        program: Sequence[str],
        seconds: float,
        tell: Callable[[float], Awaitable[None]],
    ) -> children.Ended:
        """Run a program under a trace, which is saved as it goes: a stopped one leaves some."""
        every = str(max(1.0, seconds / 10))
        command = [
            sys.executable, "-m", "asyncguard", "run", "--quiet", "--timeline", "--save-every",
            every, "-o", str(trace), *program,
        ]  # fmt: skip
        return await children.ended(command, self.root.folder, seconds, tell=tell)

    async def _work(self, result: type[R], job: str, **arguments: Any) -> R:
        return result.model_validate(await self._answer(job, **arguments))

    async def _answer(self, job: str, **arguments: Any) -> Any:
        """Have a process do a job; raises ToolError where it cannot."""
        with tempfile.TemporaryDirectory(prefix="asyncguard-mcp-") as folder:
            answer = Path(folder, "answer.json")
            given = json.dumps({"job": job, "arguments": arguments, "answer": str(answer)})
            done = await children.ended(
                [sys.executable, "-c", START], self.root.folder, PATIENCE, given.encode()
            )
            if done.too_late:
                raise ToolError(f"not done after {PATIENCE:g} s; name fewer or smaller paths")
            if done.status or not answer.exists():
                said = done.stderr.decode("utf-8", "replace").strip()[-TAIL:]
                raise RuntimeError(f"{job} died with status {done.status}: {said}")
            told: Mapping[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        if "error" in told:
            raise ToolError(told["error"])
        return told["answer"]


class _Progress:
    """Tells a client now and then that a program still runs: some give up on a silent call."""

    def __init__(self, context: Context[Any, Any], total: float, name: str) -> None:
        self._context, self._total, self._name = context, total, name
        self._before, self._last = 0.0, 0.0  # seconds of earlier runs, and of what was told

    async def tell(self, seconds: float) -> None:
        """Tell after each EVERY seconds that a run has taken."""
        if seconds < self._last:  # of another run
            self._before, self._last = self._before + self._last, 0.0
        if seconds - self._last >= EVERY:
            self._last = seconds
            done = self._before + seconds
            await self._context.report_progress(done, self._total, f"running {self._name}")


def _asked(question: Callable[..., A], *about: str) -> A:
    """Answer, with errors as tools have them."""
    try:
        return question(*about)
    except AsyncguardError as error:
        raise ToolError(str(error)) from error
