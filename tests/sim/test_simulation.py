"""The simulation as a whole: restored on leaving, the same on every run, in virtual time."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.gate import baseline, compare
from asyncguard.model import AsyncguardError
from asyncguard.sim import costs, profiles
from tests import warm
from tests.frameworks import require

torch = require("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")
pytest_plugins = ["pytester"]
SCRIPT = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(16, 32, device="cuda")
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        print(f"{loss:.4f}")
    mask = x[x > 0]
"""


def namespaces() -> dict[tuple[int, str], Any]:
    """Everything that torch's modules and classes hold."""
    owners: list[Any] = [torch.Tensor, torch.UntypedStorage, torch.nn.Module, threading.Thread]
    owners += [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == "torch"]
    return {(id(o), name): value for o in owners for name, value in list(vars(o).items())}


def use_the_device() -> None:
    with asyncguard.simulate_cuda(), asyncguard.trace():
        model = torch.nn.Linear(2, 2).cuda()
        model(torch.ones(1, 2, device="cuda")).sum().backward()
        torch.optim.AdamW(model.parameters()).step()
        torch.cuda.synchronize()


def test_leaving_restores_torch() -> None:
    use_the_device()  # imports what it needs
    before = namespaces()
    use_the_device()
    after = namespaces()
    changed = [key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)]
    known = {"SKIP_DIRS_RE"}  # of torch.compile, which asyncguard asks to skip its hooks
    assert not [name for _, name in changed if name not in known]
    assert torch._C._len_torch_dispatch_stack() == 0
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError), match=r"not compiled with CUDA|no NVIDIA"):
        torch.zeros(1, device="cuda")


def test_an_error_leaves_torch_restored() -> None:
    own = torch.zeros
    with pytest.raises(TypeError), asyncguard.simulate_cuda():
        torch.zeros(2, device="cuda").numpy()
    assert torch.zeros is own


def test_tensors_outlive_the_device() -> None:
    with asyncguard.simulate_cuda():
        x = torch.ones(2, device="cuda") * 3
    assert x.device == torch.device("cpu")
    assert (x + torch.ones(2)).tolist() == [4.0, 4.0]


def test_compiled_functions_run_eagerly_and_say_so_once() -> None:
    with asyncguard.simulate_cuda(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = torch.compile(torch.nn.Linear(2, 2).cuda())
        double = torch.compile(lambda x: x * 2)

        @torch.compile(mode="reduce-overhead")
        def add(x: Any) -> Any:
            return x + 1

        assert add(double(model(torch.ones(2, 2, device="cuda")))).is_cuda
    assert len([w for w in caught if "eagerly" in str(w.message)]) == 1


def test_compiling_stops_the_checks_of_distributions_up_to_the_end() -> None:
    """As torch.compile does in a process: what checks waits for the device."""
    with asyncguard.simulate_cuda():
        categorical = torch.distributions.Categorical(logits=torch.ones(3, device="cuda"))
        assert categorical._validate_args
        with pytest.warns(UserWarning, match="eagerly"):
            torch.compile(torch.nn.Linear(2, 2))
        assert not categorical._validate_args
    assert torch.distributions.Distribution._validate_args


def test_copies_that_modules_hold_are_replaced_and_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "made_here", torch.tensor, raising=False)
    own = torch.tensor
    with asyncguard.simulate_cuda():
        assert module.made_here([1.0], device="cuda").is_cuda  # type: ignore[attr-defined]
        monkeypatch.setattr(module, "made_there", torch.zeros, raising=False)
    assert module.made_here is own  # type: ignore[attr-defined]
    assert module.made_there is torch.zeros  # type: ignore[attr-defined]


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "profile": (lambda: asyncguard.simulate_cuda("z80"), "unknown profile 'z80'; one of a100"),
    "devices": (lambda: asyncguard.simulate_cuda(devices=0), "devices must be a whole number"),
    "host": (lambda: asyncguard.simulate_cuda(host="fast"), "unknown host 'fast'"),
    "file": (lambda: asyncguard.simulate_cuda("none.toml"), "none.toml: cannot read the profile"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(AsyncguardError, match=message):
        call()


def test_it_comes_before_traces_and_alone() -> None:
    with asyncguard.trace(), pytest.raises(AsyncguardError, match="before traces"):
        asyncguard.simulate_cuda().__enter__()
    with asyncguard.simulate_cuda(), pytest.raises(AsyncguardError, match="within another"):
        asyncguard.simulate_cuda().__enter__()


PROFILES = sorted(
    path.stem for path in (Path(profiles.__file__).parent / "profiles").glob("*.toml")
)


def test_the_profiles_of_the_guide_ship() -> None:
    newer = {"b200", "gb200", "mi300x", "rtx5090", "l4"}
    assert newer | {"h200", "h100", "a100", "rtx4090", "t4"} == set(PROFILES)
    assert all(f'"{name}"' in (asyncguard.simulate_cuda.__doc__ or "") for name in PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_profiles(name: str) -> None:
    profile = profiles.load(name)
    assert profile.name == name
    assert any(source.startswith("https://") for source in profile.sources)
    assert profile.flops["bfloat16"] <= profile.flops["float16"] <= profile.flops["int8"]
    assert profile.flops["float16"] >= profile.flops["float32"] > 0
    assert profile.memory_bandwidth > profile.pinned_bandwidth > profile.pageable_bandwidth


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    text = (Path(profiles.__file__).parent / "profiles" / "t4.toml").read_text()
    file.write_text(text.replace('name = "t4"', 'name = "slow"'))
    assert profiles.load(str(file)).name == "slow"
    file.write_text("speed = 3\n" + text)
    with pytest.raises(AsyncguardError, match=r"slow\.toml: unknown key 'speed'"):
        profiles.load(str(file))
    file.write_text(text.replace("300e9", "-1"))
    with pytest.raises(AsyncguardError, match="memory_bandwidth must be a number from 0 up"):
        profiles.load(str(file))


def duration(call: Callable[[], Any], profile: str = "h200") -> int:
    """Virtual nanoseconds that a call takes, until all of it is done."""
    with asyncguard.simulate_cuda(profile) as simulation:
        torch.cuda.synchronize()
        began = simulation.now()
        call()
        torch.cuda.synchronize()
        return int(simulation.now() - began)


def matmuls(number: int) -> None:
    """Multiply, each time longer for the device than for the host: it falls behind."""
    a = torch.empty(1024, 1024, device="cuda")
    for _ in range(number):
        a @ a


def test_flops_and_bytes_take_time() -> None:
    flops = 8 * 2 * 1024**3
    took = duration(lambda: matmuls(8))
    assert took > flops / 67e12 * 1e9
    assert duration(lambda: matmuls(8), "t4") > 3 * took
    pinned = duration(lambda: torch.empty(2**22, pin_memory=True).cuda())
    assert duration(lambda: torch.empty(2**22).cuda()) > 2 * pinned


def test_heads_of_queries_may_share_those_of_keys() -> None:
    def attend(device: str) -> torch.Tensor:
        query = torch.ones(2, 8, 64, 16, device=device)
        key = torch.ones(2, 2, 64, 16, device=device)
        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(query.requires_grad_(), key, key, enable_gqa=True).sum()

    query, key = torch.ones(2, 8, 64, 16), torch.ones(2, 2, 32, 16)
    counted = flop_counter.flop_registry[torch.ops.aten._scaled_dot_product_flash_attention]
    of = costs.flops_of(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
    assert of is not None
    assert of(query, query, query) == counted(query, query, query)
    assert of(query, key, key) * 2 == of(query, query, query)
    assert of(query[:, :, :0], key, key) == 0
    with asyncguard.simulate_cuda():
        result = attend("cuda")
        result.backward()
        assert result.item() == attend("cpu").item()


def test_a_wait_costs_the_work_that_is_pending() -> None:
    with asyncguard.simulate_cuda() as simulation, asyncguard.trace() as trace:
        matmuls(4)
        pending = simulation.machine.stream().tail - simulation.now()
        torch.cuda.synchronize()
    (site,) = trace.sites
    assert site.api == "torch.cuda.synchronize"
    assert site.cpu_stall_ns == pending + simulation.machine.profile.wait_return_ns


def test_a_wait_leaves_the_device_idle() -> None:
    """Until the host is back, has run the next operator and it has been launched."""
    with asyncguard.simulate_cuda() as simulation, asyncguard.trace() as trace:
        x = torch.empty(4, 4, device="cuda")
        matmuls(4)
        torch.cuda.synchronize()
        x + 1
        x.sum().item()
    profile = simulation.machine.profile
    expected = profile.wait_return_ns + profile.operator_host_ns + profile.launch_latency_ns
    stalls = {site.api: site.gpu_stall_ns for site in trace.sites}
    assert stalls["torch.cuda.synchronize"] == expected


def test_events_measure_virtual_time() -> None:
    with asyncguard.simulate_cuda():
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        side = torch.cuda.Stream()
        start.record()
        with torch.cuda.stream(side):
            torch.cuda._sleep(1_700_000)
            assert torch.cuda.current_stream() == side
        assert torch.cuda.current_stream().query()
        torch.cuda.current_stream().wait_stream(side)
        end.record()
        assert not end.query()
        with pytest.raises(RuntimeError, match="not ready"):
            start.elapsed_time(end)
        end.synchronize()
        assert 1.0 <= start.elapsed_time(end) < 1.1
        assert side.query()


def run_script(folder: Path, name: str, *options: str) -> tuple[dict[str, Any], str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    trace = folder / name
    command = [*warm.python("torch"), "-m", "asyncguard", "run", *options, "-q", "-o", str(trace)]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(trace.read_text()), done.stdout


def traced(script: str = SCRIPT) -> Any:
    """The record of one run in this process."""
    with asyncguard.simulate_cuda(), asyncguard.trace(timeline=10_000) as trace:
        exec(compile(script, __file__, "exec"), {"__name__": "__main__", "print": str})
    return trace.record


def test_a_run_is_the_same_every_time() -> None:
    """Four runs in one process, whose traces differ in nothing but memory that was resident."""
    records = [replace(traced(), extra={}) for _ in range(4)]
    assert all(record == records[0] for record in records[1:])
    assert records[0].step_syncs == (2, 1, 2, 1, 2)
    assert {event.kind for event in records[0].timeline} >= {"enqueue", "run", "wait", "step"}


def test_the_gate_fails_on_one_added_read_every_time_and_never_unchanged() -> None:
    """Five runs of each here; benchmarks/sim_gate.py has two hundred."""
    accepted = baseline.of_traces([traced()])
    worse = f"{SCRIPT}    loss.item()\n"
    for _ in range(5):
        assert not compare.grown_sites([traced()], accepted)
        (grown,) = compare.grown_sites([traced(worse)], accepted)
        assert grown.site.api == "torch.Tensor.item"


def test_the_command_line(tmp_path: Path) -> None:
    trace, shown = run_script(tmp_path, "a.json", "--sim", "cuda:a100")
    assert len(shown.split()) == 3
    assert {site["device"] for site in trace["sites"]} == {"cuda:0 (simulated)"}
    assert any("A100" in note for note in trace["notes"])
    trace, _ = run_script(tmp_path, "m.json", "--sim", "cuda", "--sim-host", "measured")
    assert any("measured host times" in note for note in trace["notes"])
    assert trace["duration_ns"] > 0


def test_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        textwrap.dedent(
            """
            import pytest, torch

            @pytest.fixture
            def x(sync_trace):
                return torch.ones(3, device="cuda")

            @pytest.mark.max_syncs(1, device="sim")
            def test_within(x):
                x.sum().item()

            @pytest.mark.max_syncs(0, device="sim:t4")
            def test_excess(x):
                assert "T4" in torch.cuda.get_device_name()
                x.sum().item()

            def test_after():
                assert not torch.cuda.is_available()
            """
        )
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*1 wait, limit 0*"])


def test_the_sync_debug_mode_ends_with_it() -> None:
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        torch.cuda.set_sync_debug_mode(1)
        with pytest.warns(UserWarning, match="called a synchronizing"):
            torch.ones(1, device="cuda").item()
    assert trace.total_syncs == 1
    with asyncguard.simulate_cuda():
        assert torch.cuda.get_sync_debug_mode() == 0
        torch.ones(1, device="cuda").item()


def test_the_version_of_cuda_is_that_of_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    with asyncguard.simulate_cuda():
        assert torch.version.cuda == "13.0"
        assert torch._C._cuda_getCompiledVersion() == 13000
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    with asyncguard.simulate_cuda():
        assert torch.version.cuda == "12.8"
        assert torch._C._cuda_getCompiledVersion() == 12080
    assert torch.version.cuda == "12.8"


def test_a_thread_that_outlives_the_simulation_leaves_no_mode_to_the_others() -> None:
    inside, over = threading.Event(), threading.Event()

    def run() -> None:
        inside.set()
        over.wait(timeout=20)

    with asyncguard.simulate_cuda():
        thread = threading.Thread(target=run)
        thread.start()
        assert inside.wait(timeout=20)
    over.set()
    thread.join(timeout=20)
    assert not torch.utils._python_dispatch.is_in_torch_dispatch_mode()
