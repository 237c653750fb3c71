from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.model import (
    AsyncguardError,
    CallPath,
    SiteStats,
    SyncKind,
    TimelineEvent,
    TraceRecord,
)
from asyncguard.runtime import store, trace_format
from asyncguard.runtime.trace_format import SCHEMA_PATH, VERSION

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

RECORD = TraceRecord(
    sites=(
        SiteStats(
            path="train.py", line=3, function="train", api="torch.Tensor.item", framework="torch",
            kind=SyncKind.SCALAR, count=10, cpu_stall_ns=1234, gpu_stall_ns=None,
            source="loss.item()", device="cuda:0", first_step=0, last_step=9, steady_count=9,
            steady_stall_ns=1000, max_stall_ns=200, stall_histogram={7: 10},
            callers=("main.py:9 main", "main.py:30 <module>"), library=("lib.py:8 read",),
            paths=(CallPath(("main.py:9 main", "main.py:30 <module>"), 6, 1000, ("lib.py:8 read",)),
                   CallPath(("main.py:11 main", "main.py:30 <module>"), 4, 234)),
            thread="MainThread", allowed="every 100",
        ),
        SiteStats("a.py", 1, "f", "engine.waitall", "engine", SyncKind.BARRIER, 1, 5, 2),
    ),
    step_count=10, duration_ns=99, steady_steps=9, steady_duration_ns=90, step_syncs=(1,) * 9,
    command="train.py --fast", root="/home/me", asyncguard_version="0.1.0",
    frameworks={"torch": "2.13.0"}, notes=("a note",), extra={"rank": 3},
    timeline=(TimelineEvent("wait", "torch.Tensor.item", 1, 2, "MainThread", 0),
              TimelineEvent("idle", "torch.Tensor.item", 1, 4, "", 0, 0)),
)  # fmt: skip


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    store.save(RECORD, path)
    assert store.load(path) == RECORD
    assert [p.name for p in tmp_path.iterdir()] == ["trace.json"]


def test_a_trace_meets_the_published_schema() -> None:
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validate = jsonschema.Draft202012Validator(schema).validate
    validate(store.to_json(RECORD))
    validate(store.to_json(TraceRecord(sites=(), step_count=0, duration_ns=0)))


def test_the_published_schema_is_made_from_the_structs() -> None:
    published = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(trace_format.schema())), (
        "python -m asyncguard.runtime.trace_format"
    )


def test_a_trace_of_files_whose_names_are_no_text_is_saved_and_loaded(tmp_path: Path) -> None:
    odd = replace(RECORD, sites=(replace(RECORD.sites[0], path="\udcff.py"),), timeline=())
    path = tmp_path / "trace.json"
    store.save(odd, path)
    assert store.load(path) == odd
    assert store.load_figures(path).sites[0].path == "\udcff.py"


def test_a_trace_of_a_newer_version_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({**store.to_json(RECORD), "version": 99}))
    with pytest.raises(AsyncguardError, match="a newer asyncguard wrote it: upgrade"):
        store.load(path)


def test_facts_of_the_wrong_type_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({**store.to_json(RECORD), "extra": {"rank": "three"}}))
    for read in (store.load, store.load_figures):
        with pytest.raises(AsyncguardError, match=r"trace\.json: .*rank"):
            read(path)


def test_fields_of_a_newer_minor_version_are_skipped() -> None:
    data = {**store.to_json(RECORD), "invented_later": 1}
    data["sites"][0]["invented_later"] = 2
    assert store.from_json(data) == RECORD


# One file of each version that was ever written: never changed, only added to.
OLD = sorted((Path(__file__).parent / "data").glob("trace.v*.json"))


def test_each_version_has_an_example() -> None:
    assert [path.name for path in OLD] == [f"trace.v{n}.json" for n in range(1, VERSION + 1)]


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_old_versions_stay_readable(path: Path) -> None:
    record = store.load(path)
    assert {site.api: site.count for site in record.sites} == {
        "engine.ndarray.__float__": 3,
        "engine.ndarray.wait_to_read": 3,
    }
    assert (record.step_count, record.step_syncs) == (3, (2, 2))
    assert {site.allowed for site in record.sites} == {"the log", None}
    assert {event.kind for event in record.timeline} >= {"step", "wait", "enqueue", "run"}


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_the_published_schema_describes_old_versions_too(path: Path) -> None:
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema)


BROKEN: dict[str, Any] = {
    "not JSON": "{",
    "not an object": "[1, 2]",
    "another format": '{"format": "other"}',
    "a version to come": '{"format": "asyncguard-trace", "version": 99}',
    "no sites": '{"format": "asyncguard-trace", "version": 1, "step_count": 0, "duration_ns": 0}',
    "sites of another shape": (
        '{"format": "asyncguard-trace", "version": 1, "step_count": 0, "duration_ns": 0, '
        '"sites": [3]}'
    ),
    "binary": b"\xff\xfe\x00",
    "lists in lists": "[" * 100_000,
}
FIELDS: dict[str, tuple[str, Any]] = {
    "version": ("version", True),
    "step_count": ("step_count", None),
    "frameworks": ("frameworks", ["torch"]),
    "notes": ("notes", [1]),
    "step_syncs": ("step_syncs", "abc"),
    "a site's count": ("sites.0.count", "many"),
    "a site's kind": ("sites.0.kind", "nope"),
    "a site's histogram": ("sites.0.stall_histogram", {"7": "x"}),
    "a site's source": ("sites.0.source", None),
    "a site": ("sites.0", 7),
    "an event's time": ("timeline.0.begin_ns", "soon"),
    "an event's site": ("timeline.0.site", 99),
    "an event's cause": ("timeline.1.cause", -1),
    "an event": ("timeline.0", 1),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_that_cannot_be_is_refused_naming_the_file_and_the_remedy(
    name: str, tmp_path: Path
) -> None:
    data = store.to_json(RECORD)
    place, value = FIELDS[name]
    *parents, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    owner: Any = data
    for part in parents:
        owner = owner[part]
    owner[last] = value
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(AsyncguardError, match=r"broken\.json: .*record it again"):
        store.load(path)


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_trace_is_refused_naming_the_file_and_the_remedy(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.json"
    text = BROKEN[name]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AsyncguardError, match=r"broken\.json: .*record it again"):
        store.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AsyncguardError, match=r"none\.json: cannot read the trace"):
        store.load(tmp_path / "none.json")


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AsyncguardError, match="cannot write the trace"):
        store.save(RECORD, tmp_path / "none" / "trace.json")
