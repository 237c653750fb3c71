"""The tools that only read: what they return, what they refuse, and that they execute nothing."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from asyncguard.mcp.root import RUNS
from asyncguard.runtime import store
from tests.mcp.client import TRAIN, Agent, serve
from tests.records import record, site

COLD = "import torch\n\nprint(torch.ones(2, device='cuda').sum().item())\n"
READING = {"check", "explain", "report", "predict", "diff", "gate"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


def waits(path: Path, count: int, **values: object) -> None:
    """Save a trace of ten steps in which one line waited `count` times."""
    path.parent.mkdir(exist_ok=True)
    waited = site(
        path="train.py", line=13, count=count, steady_count=count - 1, cpu_stall_ns=count * 1000,
        steady_stall_ns=(count - 1) * 1000, source="total += loss.item()", device="cuda:0",
    )  # fmt: skip
    told = record(
        waited, step_count=10, steady_steps=9, steady_duration_ns=9_000_000,
        duration_ns=10_000_000, root=str(path.parent), basis="modelled", exit_status=0, **values,
    )  # fmt: skip
    store.save(told, path)


def test_the_tools_say_what_they_take_return_and_do(root: Path) -> None:
    async def work(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools.keys() == READING | {"run"}
        for name, tool in tools.items():
            assert tool.annotations.read_only_hint is (name != "run")
            assert tool.annotations.destructive_hint is (name == "run")
            assert tool.annotations.open_world_hint is (name == "run")
            assert tool.input_schema["additionalProperties"] is False
            for argument in tool.input_schema["properties"].values():
                assert argument["description"]
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.output_schema["properties"]["verdict"]
        assert tools["run"].description.startswith("EXECUTE a program")
        limit = tools["check"].input_schema["properties"]["limit"]
        assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 200, 10)
        assert "h200" in tools["run"].input_schema["properties"]["profile"]["enum"]
        assert "outputs equal" in agent.client.instructions

    serve(root, work)


def test_check_gives_places_evidence_remedies_and_repairs(root: Path) -> None:
    async def work(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        answer = await agent.raw("check")
        told = answer.structured_content
        jsonschema.validate(told, tools["check"].output_schema)
        assert json.loads(answer.content[0].text) == told  # for clients that read text alone
        assert told["verdict"] == "2 findings in 1 file (1 file checked)"
        first, second = told["findings"]
        assert (first["path"], first["line"], first["column"]) == ("train.py", 13, 18)
        assert (first["code"], first["rule"]) == ("ASG102", "scalar-conversion")
        assert first["loop"] == "step"
        assert any(why.startswith("device: ") for why in first["why"])
        assert any(why.startswith("hot: ") and "train.py:9" in why for why in first["why"])
        assert first["repair"]["applicability"] == "unsafe"
        assert "+        total += loss.detach().double()" in first["repair"]["diff"]
        assert "_assert_async" in second["remedy"]
        one = await agent.call("check", limit=1)
        assert (len(one["findings"]), one["total"], one["left"]) == (1, 2, 1)
        assert one["verdict"].endswith("1 more behind `offset`")
        rest = await agent.call("check", limit=1, offset=one["next_offset"])
        assert [rest["findings"][0]["line"], rest["left"]] == [14, 0]
        of_rule = await agent.call("check", rules=["truth-test"])
        assert [finding["code"] for finding in of_rule["findings"]] == ["ASG104"]
        (root / "cold.py").write_text(COLD)
        cold = await agent.call("check", paths=["cold.py"])
        assert (cold["total"], cold["hidden"]) == (0, 1)
        everything = await agent.call("check", paths=["cold.py"], everything=True)
        assert [finding["loop"] for finding in everything["findings"]] == ["none"]
        other = await agent.call("check", paths=["cold.py"], everything=True, rules=["ASG2"])
        assert other["total"] == 0

    serve(root, work)


def test_a_patch_holds_all_repairs_and_is_not_applied(root: Path) -> None:
    async def work(agent: Agent) -> None:
        safe = await agent.call("check", patch="safe")
        assert (safe["patch"], safe["patch_repairs"]) == ("", 0)
        told = await agent.call("check", patch="unsafe")
        assert told["patch_repairs"] == 1
        assert told["verdict"].endswith("the patch repairs 1 and leaves 1")
        assert (root / "train.py").read_text() == TRAIN
        subprocess.run(["git", "apply", "-"], cwd=root, input=told["patch"], text=True, check=True)
        assert (await agent.call("check"))["total"] == 1

    serve(root, work)


def test_a_patch_that_is_too_long_names_the_files_it_leaves_out(root: Path) -> None:
    body = TRAIN.replace("total += loss.item()", "total += loss.item()  # " + "x" * 9000)
    for name in ("a.py", "b.py"):
        (root / name).write_text(body)

    async def work(agent: Agent) -> None:
        told = await agent.call("check", paths=["a.py", "b.py"], patch="unsafe")
        assert told["patch_repairs"] == 2
        assert told["patch_left"] == ["b.py"]
        assert "a/a.py" in told["patch"]
        assert "b/b.py" not in told["patch"]

    serve(root, work)


def test_explain_knows_rules_lines_and_why_there_is_nothing(root: Path) -> None:
    async def work(agent: Agent) -> None:
        rule = await agent.call("explain", what="ASG102")
        assert rule["rule"] == "scalar-conversion"
        assert "item()" in rule["text"]
        assert await agent.call("explain", what="scalar-conversion") == rule
        line = await agent.call("explain", what="train.py:13")
        assert line["findings"][0]["finding"]["line"] == 13
        assert line["findings"][0]["hidden"] == ""
        (root / "cold.py").write_text(COLD)
        cold = await agent.call("explain", what="cold.py:3:7")
        assert "in no loop over steps" in cold["findings"][0]["hidden"]
        none = await agent.call("explain", what="train.py:5")
        assert none["findings"] == []
        assert none["verdict"].startswith("train.py:5: no finding")
        assert "the file has 19" in await agent.refused("explain", what="train.py:99")
        assert "did you mean" in await agent.refused("explain", what="scalar-convertion")

    serve(root, work)


def test_saved_traces_are_reported_compared_and_predicted_from(root: Path) -> None:
    waits(root / RUNS / "before.json", 80)
    waits(root / "after.json", 10)

    async def work(agent: Agent) -> None:
        told = await agent.call("report", trace="before")
        assert told["verdict"] == "8.78 waits a step, 1.00 ms a step"
        assert told["waits_per_step"] == 8.778
        (only,) = told["sites"]
        assert (only["place"], only["waits"]) == ("train.py:13", 80)
        assert only["remedy"]
        same = await agent.call("report", trace=f"{RUNS}/before.json")
        assert same["verdict"] == told["verdict"]
        found = await agent.call("diff", before="before", after="after.json")
        assert found["verdict"] == "8.78 -> 1 waits a step, 1.00 ms -> 1.00 ms"
        assert (found["sites"][0]["state"], found["left"]) == ("fewer", 0)
        said = await agent.refused("report", trace="befor")
        assert "runs here: before" in said
        assert "`run` records one" in said
        less = await agent.call("predict", trace="before", remove=["train.py:13"])
        assert less["step_ms"] < less["before_ms"] == 1.0
        assert less["low_ms"] <= less["step_ms"] <= less["high_ms"]
        every = await agent.call(
            "predict", trace="before", every=[{"place": "train.py:13", "every": 100}]
        )
        assert less["step_ms"] <= every["step_ms"] <= 1.0
        said = await agent.refused("predict", trace="before", remove=["train.py:1"])
        assert "places that did: train.py:13" in said
        assert "at least one site" in await agent.refused("predict", trace="before")
        (root / "broken.json").write_text("{")
        said = await agent.refused("report", trace="broken.json")
        assert "broken.json: not a trace" in said
        assert "record it again" in said

    serve(root, work)


def test_the_gate_says_what_is_new_and_what_has_grown(root: Path) -> None:
    waits(root / "old.json", 10)
    waits(root / "new.json", 80)

    async def work(agent: Agent) -> None:
        assert "--update" in await agent.refused("gate", paths=["."])
        command = [sys.executable, "-m", "asyncguard", "gate", "--update", ".", "old.json"]
        subprocess.run(command, cwd=root, check=True, capture_output=True)
        held = (root / "asyncguard-baseline.json").read_bytes()
        passed = await agent.call("gate", paths=["."], traces=["old.json"])
        assert (passed["passed"], passed["findings"], passed["grown"]) == (True, [], [])
        more = "for x in range(9):\n    y = torch.ones(2, device='cuda').sum().item()\n"
        (root / "train.py").write_text(f"{TRAIN}\n{more}")
        failed = await agent.call("gate", paths=["."], traces=["new.json"])
        assert failed["passed"] is False
        assert failed["verdict"].startswith("failed: ")
        assert (failed["grown"][0]["before"], failed["grown"][0]["now"]) == (1.0, 8.778)
        assert (root / "asyncguard-baseline.json").read_bytes() == held

    serve(root, work)


WRONG = [
    ("chek", {}, "no tool 'chek'; the tools are check, "),
    ("check", {"path": ["."]}, "check: no argument 'path'; did you mean 'paths'?"),
    ("check", {"limit": 0}, "limit: Input should be greater than or equal to 1"),
    ("check", {"limit": "many"}, "limit: Input should be a valid integer"),
    ("check", {"paths": []}, "paths: List should have at least 1 item"),
    ("check", {"patch": "all"}, "patch: Input should be 'none', 'safe' or 'unsafe'"),
    ("check", {"rules": ["ASG9999"]}, "unknown rule 'ASG9999'"),
    ("check", {"paths": ["none.py"]}, "none.py: there is no such file or folder in "),
    ("check", {"paths": ["a\0b"]}, "lies outside of"),
    ("explain", {}, "what: Field required"),
    ("run", {}, "name a script or a module: one of both"),
    ("run", {"script": "train.py", "module": "train"}, "one of both"),
    ("run", {"script": "train.py", "name": "../x"}, "name: String should match pattern"),
    ("run", {"script": "train.py", "profile": "h2000"}, "no 'h2000'; one of a100, "),
    ("run", {"script": "train.py", "timeout": 0}, "timeout: Input should be greater than"),
    ("run", {"script": "train.py", "compare_to": "none"}, "runs here: none yet"),
]


def test_a_wrong_call_is_told_with_its_remedy(root: Path) -> None:
    async def work(agent: Agent) -> None:
        for tool, arguments, said in WRONG:
            told = await agent.refused(tool, **arguments)
            assert said in told, (tool, arguments)
            assert "pydantic" not in told
        assert not (root / RUNS).exists()

    serve(root, work)


def test_nothing_outside_of_the_root_is_read(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text(TRAIN)
    (root / "link.py").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)

    async def work(agent: Agent) -> None:
        for path in ("..", "../secret.py", str(secret), "link.py", "folder/secret.py", "/"):
            for tool, arguments in (
                ("check", {"paths": [path]}), ("explain", {"what": f"{path}:12"}),
                ("report", {"trace": path}), ("diff", {"before": path, "after": path}),
                ("gate", {"paths": [path]}), ("run", {"script": path}),
                ("predict", {"trace": path, "remove": ["train.py:1"]}),
                ("gate", {"paths": ["."], "baseline": path}),
            ):  # fmt: skip
                said = await agent.refused(tool, **arguments)
                assert f"{path}: lies outside of {root}" in said
                assert "--root" in said
        whole = await agent.call("check")
        assert {finding["path"] for finding in whole["findings"]} == {"train.py"}
        absolute = await agent.call("check", paths=[str(root / "train.py")])
        assert absolute["findings"][0]["path"] == "train.py"

    serve(root, work)


def test_reading_executes_nothing_of_the_project(root: Path) -> None:
    """Not the program, and not modules that are called like those that the server imports."""
    marker = root / "executed"
    line = f"open({str(marker)!r}, 'a').write(__name__)\n"
    (root / "train.py").write_text(line + TRAIN)
    for name in ("json", "libcst", "pydantic", "rich", "msgspec", "sitecustomize", "torch"):
        (root / f"{name}.py").write_text(line)
    waits(root / RUNS / "a.json", 8)

    async def work(agent: Agent) -> None:
        await agent.call("check", patch="unsafe")
        await agent.call("explain", what="train.py:14")
        await agent.call("report", trace="a")
        await agent.call("predict", trace="a", remove=["train.py:13"])
        await agent.call("diff", before="a", after="a")
        await agent.refused("gate", paths=["."])
        assert not marker.exists()

    serve(root, work, cwd=root)


def test_calls_at_once_are_answered_each(root: Path) -> None:
    (root / "clean.py").write_text("x = 1\n")

    async def work(agent: Agent) -> None:
        asked = [["train.py"], ["clean.py"], ["train.py", "clean.py"]]
        told = await asyncio.gather(*(agent.call("check", paths=paths) for paths in asked))
        assert [answer["total"] for answer in told] == [2, 0, 2]
        assert [answer["files_checked"] for answer in told] == [1, 1, 2]

    serve(root, work)


def test_a_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "asyncguard", "mcp", "--root", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stderr.endswith("none: there is no such folder; name another with --root\n")


def test_without_the_extra_one_line_names_it(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError('no mcp', name='mcp')\n")
    done = subprocess.run(
        [sys.executable, "-m", "asyncguard", "mcp"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "asyncguard: mcp: mcp is missing; install it with `pip install 'asyncguard[mcp]'`\n"
    )
