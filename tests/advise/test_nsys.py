"""Exported reports of Nsight Systems: every figure from files made to the published schema."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asyncguard
from asyncguard.advise import nsys
from asyncguard.advise.nsys import export, ranges
from asyncguard.cli import main
from asyncguard.model import AsyncguardError, SyncKind, TraceRecord
from asyncguard.runtime import store
from tests.advise.nsys_files import (
    CONTEXT,
    DTOD,
    DTOH,
    EPOCH,
    HTOD,
    MAIN,
    MS,
    OTHER,
    PID,
    PINNED,
    SCHEMAS,
    STARTED,
    STREAM_WAITS,
    US,
    Report,
    training,
)  # fmt: skip


def imported(report: Report, folder: Path, **options: Any) -> TraceRecord:
    return nsys.record(report.save(folder / "report.sqlite"), **options)


def figures(record: TraceRecord) -> list[tuple[str, str, int, int]]:
    return [(s.api, s.kind.value, s.count, s.cpu_stall_ns) for s in record.sites]


# ---- waits, places, steps and idle times


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_training_loop_is_read_alike_in_every_version_of_the_schema(
    schema: str, tmp_path: Path
) -> None:
    out = tmp_path / "t.json"
    path = training(schema).save(tmp_path / "report.sqlite")
    assert main(["import", "nsys", str(path), "-o", str(out)]) == 0
    record = store.load(out)
    (site,) = record.sites
    assert (site.api, site.kind, site.count) == ("cudaMemcpyAsync", SyncKind.ARRAY, 4)
    assert site.cpu_stall_ns == 4 * 210 * US  # the copy and the wait for the stream: one wait
    assert site.gpu_stall_ns == 4 * 272 * US  # from the copy's end to the next kernel
    assert (site.path, site.line, site.function) == ("<nsys>", 0, "log")
    assert site.callers == ("step #", "main")
    assert (site.thread, site.device) == ("python", "cuda:0")
    assert (site.steady_count, site.steady_visits, site.steady_most) == (3, 3, 1)
    assert (record.step_count, record.steady_steps, record.step_syncs) == (4, 3, (1, 1, 1))
    assert record.steady_duration_ns == 2 * MS + 900 * US  # the last step ends with its range
    assert (record.basis, record.device, record.frameworks) == (
        "measured",
        "NVIDIA H200",
        {"cuda": ""},
    )
    assert record.extra["started_ns"] == EPOCH
    assert record.duration_ns == 5 * MS
    kinds = [event.kind for event in record.timeline]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "step": 4, "wait": 4, "enqueue": 12, "run": 12, "idle": 4,
    }  # fmt: skip
    assert main(["report", str(out)]) == 0


def test_an_imported_trace_predicts_what_the_wait_costs(tmp_path: Path) -> None:
    training(steps=12).save(tmp_path / "r.sqlite")
    assert main(["import", "nsys", str(tmp_path / "r.sqlite"), "-o", str(tmp_path / "t.json")]) == 0
    trace = asyncguard.load_trace(tmp_path / "t.json")
    found = trace.predict(remove=trace.sites)
    assert found.low_ns <= found.step_ns <= found.high_ns < MS


def test_older_exports_say_what_they_lack(tmp_path: Path) -> None:
    (note,) = [n for n in imported(training("2021"), tmp_path).notes if "lacks" in n]
    assert "CUPTI_ACTIVITY_KIND_KERNEL.globalPid" in note


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaDeviceSynchronize_v3020", "barrier"), ("cudaStreamSynchronize_ptsz_v7000", "barrier"),
        ("cudaEventSynchronize_v3020", "barrier"), ("cuCtxSynchronize", "barrier"),
        ("cuStreamSynchronize_ptsz", "barrier"), ("cudaLaunchKernel_v7000", None),
        ("cudaEventQuery_v3020", None), ("cudaStreamWaitEvent_v3020", None),
    ],
)  # fmt: skip
def test_calls_that_synchronise_wait_and_others_do_not(
    name: str, kind: str | None, tmp_path: Path
) -> None:
    report = Report()
    report.call(name, 10, 50)
    report.call("cudaLaunchKernel_v7000", 60, 70)
    bare = name.partition("_")[0]
    assert figures(imported(report, tmp_path)) == ([(bare, kind, 1, 40)] if kind else [])


@pytest.mark.parametrize(
    ("name", "copy", "kind"),
    [
        ("cudaMemcpy_v3020", {"kind": HTOD}, "upload"),
        ("cudaMemcpy_v3020", {"kind": DTOH}, "array"),
        ("cudaMemcpy_v3020", {"kind": DTOD}, None),  # no host memory: nobody waits
        ("cuMemcpyDtoH_v2", {"kind": DTOH, "host": PINNED}, "array"),
        ("cudaMemcpyAsync_v3020", {"kind": DTOH}, "array"),
        ("cudaMemcpyAsync_v3020", {"kind": DTOH, "host": PINNED}, None),
        ("cudaMemcpyAsync_v3020", {"kind": DTOH, "end": 200}, None),  # it returned before
        ("cudaMemcpyAsync_v3020", {"kind": HTOD, "nbytes": 1 << 20}, "upload"),
        ("cudaMemcpyAsync_v3020", {"kind": HTOD, "nbytes": 64 << 10}, None),  # staged whole
        ("cudaMemcpyAsync_v3020", {"kind": HTOD, "nbytes": 1 << 20, "begin": 101}, None),
        ("cudaMemcpyAsync_v3020", {"kind": HTOD, "nbytes": 1 << 20, "host": PINNED}, None),
        ("cudaMemcpyAsync_v3020", None, None),
    ],
)  # fmt: skip
def test_copies_wait_where_the_profile_shows_it(
    name: str, copy: dict[str, Any] | None, kind: str | None, tmp_path: Path
) -> None:
    report = Report()
    call = report.call(name, 10, 100)
    report.copy(1, 2, 999, kind=DTOH)  # of another call
    if copy is not None:
        report.copy(at := copy.pop("begin", 40), copy.pop("end", at + 50), call, **copy)
    found = imported(report, tmp_path).sites
    assert [(s.kind.value, s.cpu_stall_ns) for s in found] == ([(kind, 90)] if kind else [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaMemcpy_v3020", "array"), ("cuMemcpyHtoD_v2", "upload"), ("cuMemcpyDtoD_v2", None),
        ("cudaMemcpyToSymbol_v3020", "upload"), ("cudaMemcpyPeer_v4000", None),
    ],
)  # fmt: skip
def test_without_records_of_copies_their_names_tell_the_direction(
    name: str, kind: str | None, tmp_path: Path
) -> None:
    report = Report()
    report.call(name, 10, 50)
    record = imported(report, tmp_path)
    assert [site.kind.value for site in record.sites] == ([kind] if kind else [])
    assert any("lacks CUPTI_ACTIVITY_KIND_MEMCPY" in note for note in record.notes)
    assert record.gpu_stall_ns is None
    assert any("GPU stalls were not measured" in note for note in record.notes)


def test_a_wait_for_the_stream_belongs_to_the_copy_right_before_it(tmp_path: Path) -> None:
    report = Report()
    upload = report.call("cudaMemcpyAsync_v3020", 10, 20)
    report.copy(30, 40, upload, kind=HTOD, host=PINNED)
    report.call("cudaStreamSynchronize_v3020", 21, 45)
    download = report.call("cudaMemcpyAsync_v3020", 100, 200)
    report.copy(150, 199, download)
    report.call("cudaLaunchKernel_v7000", 201, 202)  # between them: two waits
    report.call("cudaStreamSynchronize_v3020", 203, 303)
    late = report.call("cudaMemcpyAsync_v3020", 400, 500)
    report.copy(450, 499, late)
    report.call("cudaStreamSynchronize_v3020", 500 + 1 * MS, 501 + 1 * MS)  # the program's own
    assert sorted(figures(imported(report, tmp_path))) == [
        ("cudaMemcpyAsync", "array", 2, 200),
        ("cudaStreamSynchronize", "barrier", 2, 101),
        ("cudaStreamSynchronize", "upload", 1, 24),
    ]


def test_a_driver_call_within_a_runtime_call_is_no_second_wait(tmp_path: Path) -> None:
    report = Report()
    call = report.call("cudaStreamSynchronize_v3020", 10, 60)
    report.call("cuStreamSynchronize", 12, 58, number=call)
    report.call("cuStreamSynchronize", 12, 58, thread=OTHER)
    assert figures(imported(report, tmp_path)) == [
        ("cudaStreamSynchronize", "barrier", 1, 50), ("cuStreamSynchronize", "barrier", 1, 46),
    ]  # fmt: skip


def test_waits_that_only_cupti_recorded_count_too(tmp_path: Path) -> None:
    report = Report()
    free = report.call("cudaFree_v3020", 10, 100)
    report.sync(20, 80, free, CONTEXT)
    report.sync(200, 300, 777, CONTEXT)  # no call was recorded
    report.sync(400, 500, 778, STREAM_WAITS)  # the device waits, not the host
    report.sync(0, 0, 779, CONTEXT)  # no times could be collected
    record = imported(report, tmp_path)
    assert figures(record) == [
        ("cudaDeviceSynchronize", "barrier", 1, 100), ("cudaFree", "barrier", 1, 60),
    ]  # fmt: skip
    assert [site.thread for site in record.sites] == ["", f"thread {PID}"]


def test_the_innermost_range_of_the_same_thread_stands_for_the_function(tmp_path: Path) -> None:
    report = Report()
    report.range("outer", 0, 1000)
    report.range("aten::item, seq = 3, op_id = 9, sizes = [[]]", 90, 210)
    report.range("aten::_local_scalar_dense, op_id = 10", 95, 205)
    report.range("elsewhere", 90, 210, thread=OTHER)
    report.range("ends within", 100, 150)
    report.range("not a stack's", 99, 205, kind=STARTED)
    report.call("cudaStreamSynchronize_v3020", 110, 200)
    report.call("cudaStreamSynchronize_v3020", 110, 200, thread=OTHER)
    report.call("cudaStreamSynchronize_v3020", 1100, 1200)
    found = {(s.function, s.api, s.callers): s for s in imported(report, tmp_path).sites}
    assert found.keys() == {
        ("outer", "aten::item", ()), ("elsewhere", "cudaStreamSynchronize", ()),
        ("", "cudaStreamSynchronize", ()),
    }  # fmt: skip
    assert found["outer", "aten::item", ()].kind is SyncKind.SCALAR
    assert {site.framework for site in found.values()} == {"torch"}


def test_a_range_of_ours_names_the_line(tmp_path: Path) -> None:
    report = Report()
    report.range("forward", 0, 90)
    report.range("asyncguard: wait at /home/me/train.py:17", 5, 80)
    report.call("cudaDeviceSynchronize_v3020", 10, 70)
    (site,) = imported(report, tmp_path).sites
    assert (site.path, site.line, site.function) == ("/home/me/train.py", 17, "forward")


def test_python_frames_of_a_call_stack_are_the_site(tmp_path: Path) -> None:
    report = Report()
    chain = report.chain(
        5, ("cudaStreamSynchronize", "/usr/lib/libcuda.so"),
        ("at::native::item(x)", "/v/libtorch.so"),
        ("item", "/v/site-packages/torch/_tensor.py:9"), ("log", "/home/me/train.py:17"),
        ("main (/home/me/train.py:40)", "[python]"),
    )  # fmt: skip
    report.range("forward", 0, 90)
    report.call("cudaStreamSynchronize_v3020", 10, 70, chain=chain)
    (site,) = imported(report, tmp_path).sites
    assert (site.path, site.line, site.function) == ("/home/me/train.py", 17, "log")
    assert site.callers == ("/home/me/train.py:40 main",)
    assert site.library == (
        "cudaStreamSynchronize (libcuda.so)", "at::native::item(x) (libtorch.so)",
        "/v/site-packages/torch/_tensor.py:9 item",
    )  # fmt: skip


def test_native_frames_name_the_extension_that_waited(tmp_path: Path) -> None:
    report = Report()
    chain = report.chain(1, ("my_ext::step()", "/v/my_ext.so"), ("_PyEval", "/usr/bin/python3"))
    report.range("forward", 0, 90)
    report.call("cudaDeviceSynchronize_v3020", 10, 70, chain=chain)
    (site,) = imported(report, tmp_path).sites
    assert (site.function, site.library[0]) == ("forward", "my_ext::step() (my_ext.so)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("step 3", True), ("Step", True), ("ProfilerStep#12", True), ("train_step", True),
        ("iteration_7", True), ("iter:5", True), ("training step 9", True), ("batch 2", True),
        ("Optimizer.step#SGD.step", False), ("aten::batch_norm", False), ("batch_norm", False),
        ("next batch loader", False), ("stepwise", False), ("forward", False), ("", False),
    ],
)  # fmt: skip
def test_ranges_that_are_named_like_a_step(name: str, expected: bool) -> None:
    assert ranges.is_step(name) is expected


def test_steps_are_the_named_ranges_that_take_most_time_or_those_asked_for(tmp_path: Path) -> None:
    report = Report()
    for at in range(3):
        report.range(f"step {at}", at * 100, at * 100 + 60)
        report.range("micro step", at * 100 + 5, at * 100 + 10)
        report.range("epoch", at * 100 + 1, at * 100 + 50)
        report.call("cudaDeviceSynchronize_v3020", at * 100 + 70, at * 100 + 80)  # between ranges
    path = report.save(tmp_path / "r.sqlite")
    chosen = nsys.record(path)
    assert (chosen.step_count, chosen.step_syncs) == (3, (1, 0))  # the last one ends with its range
    assert chosen.steady_duration_ns == 100 + 60
    asked = nsys.record(path, steps="epoc*")
    assert [e.begin_ns for e in asked.timeline if e.kind == "step"] == [1, 101, 201]
    with pytest.raises(AsyncguardError, match=r"r\.sqlite: no NVTX range is named 'x'.*'micro"):
        nsys.record(path, steps="x")


def test_without_ranges_like_steps_there_are_none_and_it_says_so(tmp_path: Path) -> None:
    report = Report()
    report.range("step 1", 0, 10)  # once is no loop
    report.range("forward", 20, None)  # never ended
    report.range("forward", 30, 35)
    report.call("cudaDeviceSynchronize_v3020", 40, 90)
    record = imported(report, tmp_path)
    assert (record.step_count, record.syncs_per_step) == (0, None)
    assert any(note.startswith("No steps") for note in record.notes)
    assert record.sites[0].function == "forward"


def test_one_process_is_imported_and_the_others_are_named(tmp_path: Path) -> None:
    report = Report()
    for process, waited in ((7, 100), (8, 300), (9, 0)):
        report.process, thread = process, (process << 24) + process
        report.last = 0  # each process counts its calls for itself
        launch = report.call("cudaLaunchKernel_v7000", 10, 12, thread=thread)
        report.kernel(20, 50, launch)
        if waited:
            report.call("cudaDeviceSynchronize_v3020", 30, 30 + waited, thread=thread)
        report.range(f"of {process}", 0, 999, thread=thread)
    path = report.save(tmp_path / "r.sqlite")
    chosen = nsys.record(path)
    assert [(s.function, s.cpu_stall_ns) for s in chosen.sites] == [("of 8", 300)]
    assert chosen.sites[0].gpu_stall_ns == 280  # until it returned: nothing followed
    assert any("--process imports one of the others: 7, 9" in note for note in chosen.notes)
    assert [s.function for s in nsys.record(path, process=7).sites] == ["of 7"]
    assert nsys.record(path, process=9).sites == ()
    with pytest.raises(AsyncguardError, match=r"process 5 called no CUDA; .* are 7, 8, 9"):
        nsys.record(path, process=5)


def test_processes_that_cannot_be_told_apart_have_no_stalls_made_up(tmp_path: Path) -> None:
    report = training("2021")
    report.call("cudaDeviceSynchronize_v3020", 10, 20, thread=(5 << 24) + 5)
    record = imported(report, tmp_path)
    assert record.gpu_stall_ns is None
    assert any("GPU stalls were not measured" in note for note in record.notes)


def test_runs_without_the_call_that_enqueued_them_are_told(tmp_path: Path) -> None:
    report = Report()
    report.kernel(0, 20, None)
    report.call("cudaDeviceSynchronize_v3020", 5, 30)
    report.kernel(500, 600, None)
    record = imported(report, tmp_path)
    assert record.gpu_stall_ns == 0
    assert any("GPU stalls are too small: 2 of 2" in note for note in record.notes)


def test_graphs_count_as_work_of_the_device(tmp_path: Path) -> None:
    report = Report()
    launch = report.call("cudaGraphLaunch_v10000", 0, 5)
    report.ran("GRAPH_TRACE", 10 * US, 90 * US, launch, graphId=1, graphExecId=1)
    report.call("cudaDeviceSynchronize_v3020", 20 * US, 91 * US)
    again = report.call("cudaGraphLaunch_v10000", 400 * US, 405 * US)
    report.ran("GRAPH_TRACE", 500 * US, 600 * US, again, graphId=1, graphExecId=1)
    assert imported(report, tmp_path).gpu_stall_ns == 410 * US


def test_long_reports_are_settled_in_portions_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = training(steps=30).save(tmp_path / "r.sqlite")
    whole = nsys.record(path)
    monkeypatch.setattr("asyncguard.advise.nsys.device.PORTION", 2)
    assert nsys.record(path) == whole
    assert whole.gpu_stall_ns == 30 * 272 * US


# ---- files that are not what they should be


def run(path: Path, out: Path, *more: str) -> int:
    return main(["import", "nsys", str(path), "-o", str(out), *more])


def refused(path: Path, folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    out = folder / "t.json"
    out.write_text("before")
    assert run(path, out, *more) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert out.read_text() == "before"
    assert error.startswith(f"asyncguard: error: {path}: ") or str(path) in error
    return error


@pytest.mark.parametrize("name", ["report.nsys-rep", "report.qdrep"])
def test_a_report_that_was_not_exported_says_how(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x1f\x8b any")
    error = refused(path, tmp_path, capsys)
    assert f"nsys export --type sqlite -o report.sqlite {name}" in error


@pytest.mark.parametrize("data", [b"", b"SQLite", b"\0" * 4096, b"{}", b"SQLite format 3\0"])
def test_what_is_no_database_is_refused(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(data)
    assert "nsys export --type sqlite" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_export_is_refused(
    share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training(steps=60).save(tmp_path / "r.sqlite")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert "export it again" in refused(path, tmp_path, capsys)


def test_a_locked_export_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training().save(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert "another program is writing it" in refused(path, tmp_path, capsys)
    assert run(path, tmp_path / "t.json") == 0


def test_a_read_only_export_in_a_read_only_folder_is_read_and_nothing_is_left_beside_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    path = training().save(folder / "r.sqlite")
    before = path.read_bytes()
    path.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert run(path, tmp_path / "t.json") == 0
        assert (os.listdir(folder), path.read_bytes()) == (["r.sqlite"], before)
    finally:
        folder.chmod(stat.S_IRWXU)


def test_an_export_with_a_wal_is_refused_before_sqlite_makes_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training().save(tmp_path / "r.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE more (x)")
        connection.commit()
    assert "WAL" in refused(path, tmp_path, capsys)
    assert not list(tmp_path.glob("r.sqlite-*"))


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo"])
def test_what_is_no_file_is_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.sqlite"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    assert "cannot read the export" in refused(path, tmp_path, capsys)


def test_a_name_with_marks_of_urls_and_sql_is_a_name(tmp_path: Path) -> None:
    path = training().save(tmp_path / "r ?mode=rwc&x='; DROP TABLE--%41#.sqlite")
    assert run(path, tmp_path / "t.json") == 0


def test_an_export_does_not_replace_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training().save(tmp_path / "r.sqlite")
    before = path.read_bytes()
    assert run(path, path) == 2
    assert path.read_bytes() == before
    assert "name another file with -o" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (["NVTX_EVENTS", "StringIds"], "holds no CUDA calls"),
        (["CUPTI_ACTIVITY_KIND_RUNTIME"], "lacks the table StringIds"),
        ([], "holds no CUDA calls"),
    ],
)
def test_an_export_without_calls_of_cuda_says_how_to_profile(
    tables: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training().save(tmp_path / "r.sqlite", tables)
    if not tables:  # SQLite writes nothing until there is a table
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE other (x)")
    assert message in refused(path, tmp_path, capsys)


def test_an_export_without_rows_says_how_to_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = training().save(tmp_path / "r.sqlite")
    changed(path, "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    assert "holds no CUDA calls" in refused(path, tmp_path, capsys)


def changed(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        (("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"), "lacks the column nameId"),
        (("CUPTI_ACTIVITY_KIND_RUNTIME", "end"), "lacks the column end"),
    ],
)
def test_a_column_that_is_needed_is_named(
    renamed: tuple[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, column = renamed
    path = training().save(tmp_path / "r.sqlite")
    changed(path, f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other')
    assert message in refused(path, tmp_path, capsys)


@pytest.mark.parametrize(
    "column",
    [
        "CUPTI_ACTIVITY_KIND_MEMCPY.srcKind", "CUPTI_ACTIVITY_KIND_MEMCPY.copyKind",
        "CUPTI_ACTIVITY_KIND_MEMCPY.bytes", "CUPTI_ACTIVITY_KIND_RUNTIME.correlationId",
        "CUPTI_ACTIVITY_KIND_RUNTIME.callchainId", "CUPTI_ACTIVITY_KIND_KERNEL.deviceId",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION.syncType", "NVTX_EVENTS.eventType", "NVTX_EVENTS.text",
        "ThreadNames.nameId",
    ],
)  # fmt: skip
def test_a_column_that_is_missing_is_told_and_done_without(column: str, tmp_path: Path) -> None:
    table, _, name = column.partition(".")
    path = training().save(tmp_path / "r.sqlite")
    changed(path, f'ALTER TABLE {table} RENAME COLUMN "{name}" TO other')
    record = nsys.record(path)
    assert record.total_syncs >= 4
    assert any(column in note for note in record.notes)


def test_what_would_run_when_it_is_read_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Views and virtual tables under the names of the schema's, and generated columns."""
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x"
    path = training().save(tmp_path / "r.sqlite")
    changed(path, "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME",
            f"CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS {endless} AS start FROM n")  # fmt: skip
    assert "holds no CUDA calls" in refused(path, tmp_path, capsys)
    path = training().save(tmp_path / "g.sqlite")
    changed(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME COLUMN nameId TO other",
            "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN nameId AS (zeroblob(1000000))",
            )  # fmt: skip
    assert "lacks the column nameId" in refused(path, tmp_path, capsys)


SPOILT: dict[str, Callable[[Report], None]] = {
    "ends before it begins": lambda r: r.call("cudaDeviceSynchronize", 50, 10) and None,
    "time before the start": lambda r: r.call("cudaDeviceSynchronize", -50, 10) and None,
    "time beyond all": lambda r: r.call("cudaDeviceSynchronize", 5, 2**62) and None,
    "a text for a time": lambda r: r.call("cudaDeviceSynchronize", "x", 10) and None,  # type: ignore[arg-type]
    "a blob for a time": lambda r: r.call("cudaDeviceSynchronize", b"\0", 10) and None,  # type: ignore[arg-type]
    "a kernel on no device": lambda r: r.kernel(5, 9, 1, deviceId="x"),
    "a copy that ends first": lambda r: r.copy(9, 5, 1),
    "a range of text": lambda r: r.range("x", "a", 3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", SPOILT)
def test_rows_that_make_no_sense_are_skipped_and_counted(name: str, tmp_path: Path) -> None:
    report = training()
    SPOILT[name](report)
    record = imported(report, tmp_path)
    assert (record.total_syncs, record.gpu_stall_ns) == (4, 4 * 272 * US)
    assert any("Skipped rows that make no sense: 1." in note for note in record.notes)


def test_texts_that_are_none_and_names_with_sql_are_data(tmp_path: Path) -> None:
    report = Report()
    report.range("'; DROP TABLE StringIds; --", 0, 900)
    report.range("\x1b[2J[red]", 1, 800)
    report.call("cudaDeviceSynchronize_v3020", 10, 20)
    report.add("ThreadNames", nameId=report.text('"; --'), priority=0, globalTid=MAIN)
    path = report.save(tmp_path / "r.sqlite")
    changed(path, "UPDATE StringIds SET value = CAST(x'ff00fe' AS TEXT) WHERE value = '\"; --'")
    out = tmp_path / "t.json"
    assert run(path, out) == 0
    (site,) = store.load(out).sites
    assert site.callers == ("'; DROP TABLE StringIds; --",)
    assert main(["report", str(out)]) == 0


def test_overlapping_ranges_and_one_within_itself_end(tmp_path: Path) -> None:
    report = Report()
    for at in range(300):
        report.range("step", at, 10_000 - at)  # each within the other: one step
        report.range("a", at * 2, at * 2 + 500)  # overlap
    report.call("cudaDeviceSynchronize_v3020", 700, 800)
    record = imported(report, tmp_path, steps="a")
    assert record.step_count == 2
    assert record.sites[0].function == "a"  # the one that began last
    assert len(record.sites[0].callers) == 16


@pytest.mark.parametrize("what", ["waits", "ranges", "copies"])
def test_more_rows_than_can_be_kept_are_refused_with_the_remedy(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report()
    for at in range(9):
        call = report.call(
            "cudaMemcpy_v3020" if what != "ranges" else "cudaLaunch", at * 10, at * 10 + 5
        )
        if what == "copies":
            report.copy(at * 10, at * 10 + 2, call)
        if what == "ranges":
            report.range("r", at * 10, at * 10 + 1)
    monkeypatch.setattr(export, "MOST_ROWS", 8)
    monkeypatch.setattr(nsys, "MOST_ROWS", 8)
    path = report.save(tmp_path / "r.sqlite")
    assert "profile a shorter range" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize("option", [("--steps", "x"), ("--process", "3")])
def test_options_of_nsys_are_no_options_of_kineto(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.json").write_text("{}")
    assert main(["import", "kineto", str(tmp_path / "k.json"), *option]) == 2
    assert "are for nsys" in capsys.readouterr().err


def quietly(*words: str) -> tuple[int, str]:
    """Run a command; returns its status and what it says on stderr."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = main(list(words))
    return status, errors.getvalue()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_export_is_refused_in_one_line_or_understood(data: st.DataObject) -> None:
    """Bytes changed anywhere: no exception but ours, and never a trace that cannot be saved."""
    with tempfile.TemporaryDirectory() as name:
        path = training().save(Path(name) / "r.sqlite")
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 30))):
            raw[data.draw(st.integers(100, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(raw))
        out = Path(name) / "t.json"
        status, error = quietly("import", "nsys", str(path), "-o", str(out))
        assert status in (0, 2)
        assert error.count("\n") == (1 if status else 0)
        if not status:
            assert store.load(out).basis == "measured"
            assert quietly("report", str(out)) == (0, "")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=30), st.integers(0, 40))
def test_the_ranges_around_a_call_are_those_that_enclose_it(
    spans: list[tuple[int, int]], begin: int
) -> None:
    """The stack against the definition, where ranges nest as one thread's do."""
    made = sorted(
        (ranges.Range(b, b + length, 1, f"{b}+{length}", True) for b, length in spans),
        key=lambda each: (each.begin, -each.end),
    )
    nested = [r for at, r in enumerate(made)
              if all(o.end <= r.begin or o.end >= r.end for o in made[:at])]  # fmt: skip
    enclosing = [r for r in nested if r.begin <= begin and r.end >= begin + 2]
    assert list(ranges.Around(nested).call(begin, begin + 2)) == enclosing[::-1]
