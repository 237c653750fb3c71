"""Instruments that read a running trace."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")
require("opentelemetry.sdk")

from opentelemetry import metrics  # noqa: E402
from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402

from asyncguard.integrations.opentelemetry import export  # noqa: E402


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def meter(reader: InMemoryMetricReader) -> Any:
    return MeterProvider(metric_readers=[reader]).get_meter("test")


def read(times: int) -> None:
    for _ in range(times):
        torch.ones(1).item()
        asyncguard.step()


def collect(reader: InMemoryMetricReader) -> dict[str, Any]:
    """Metric name -> its data points."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    return {
        metric.name: (metric.unit, list(metric.data.data_points))
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def values(reader: InMemoryMetricReader, name: str) -> list[float]:
    return [point.value for point in collect(reader).get(name, ("", []))[1]]


def test_a_running_trace_is_read_whenever_metrics_are_collected(
    reader: InMemoryMetricReader, meter: Any
) -> None:
    with asyncguard.trace() as trace, export(trace, meter):
        read(3)
        assert values(reader, "asyncguard.sync_points") == [3]
        read(2)
        found = collect(reader)
    unit, [point] = found["asyncguard.sync_points"]
    assert (unit, point.value) == ("{wait}", 5)
    assert point.attributes["framework"] == "torch"
    assert point.attributes["api"] == "torch.Tensor.item"
    [site] = trace.sites
    assert point.attributes["site"] == f"{site.path}:{site.line}"
    unit, [point] = found["asyncguard.cpu_stall"]
    assert unit == "s"
    assert point.value == trace.cpu_stall_ns / 1e9
    unit, [point] = found["asyncguard.steps"]
    assert (unit, point.value) == ("{step}", 5)


def test_threads_at_one_site_are_added_up(reader: InMemoryMetricReader, meter: Any) -> None:
    with asyncguard.trace() as trace, export(trace, meter):
        threads = [threading.Thread(target=read, args=(4,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(trace.sites) == 3
        assert values(reader, "asyncguard.sync_points") == [12]


def test_counters_go_on_from_one_trace_to_the_next(
    reader: InMemoryMetricReader, meter: Any
) -> None:
    for _ in range(2):
        with asyncguard.trace() as trace, export(trace, meter):
            read(2)
    assert values(reader, "asyncguard.sync_points") == [4]
    assert values(reader, "asyncguard.steps") == [4]


def test_what_happens_after_the_block_is_not_reported(
    reader: InMemoryMetricReader, meter: Any
) -> None:
    with asyncguard.trace() as trace:
        with export(trace, meter):
            read(1)
        read(1)
    assert trace.total_syncs == 2
    assert values(reader, "asyncguard.sync_points") == [1]


def test_the_global_provider_is_the_default(reader: InMemoryMetricReader) -> None:
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    with asyncguard.trace() as trace, export(trace):
        read(1)
    assert values(reader, "asyncguard.sync_points") == [1]
