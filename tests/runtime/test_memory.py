from __future__ import annotations

from pathlib import Path

from asyncguard.runtime.memory import Resident, growth, read


def test_what_the_kernel_says_is_read_in_bytes(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n")
    assert read(status) == Resident(now=200 * 1024, peak=300 * 1024)


def test_without_such_a_kernel_nothing_is_known(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    (tmp_path / "status").write_text("Name:\tpython\n")
    assert read(tmp_path / "status") is None


def test_growth_is_from_the_start_to_the_peak_unless_an_older_peak_hides_it() -> None:
    before = Resident(now=100, peak=150)
    assert growth(before, Resident(now=120, peak=400)) == 300
    assert growth(before, Resident(now=120, peak=150)) is None
    assert growth(None, before) is None
