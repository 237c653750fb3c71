"""Whatever lies in the cache folder: nothing of it runs, and nothing outside of it changes.

Each case plants something in `.asyncguard_cache` of a project. The findings must be those of
`--no-cache`, on the first run and on the next, and everything outside of the folder must stay as it
was, to the byte and the time of its last change.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run import cache, secret, worker
from asyncguard.lint.run.settings import Settings
from tests.lint.test_cache import HELPER, MAIN

NAMES = (
    "lint.msgpack", "lint.pickle", "lint.json", ".gitignore", "cache.key", "lint.abc.tmp",
    "settings.pickle", "__init__.py", "conftest.py", "sitecustomize.py", "usercustomize.py",
)  # fmt: skip
MALICE = b"cos\nsystem\n(S'touch pwned'\ntR."  # unpickling this runs a command
NOBODY = 65534
CODE = b"import os\nos.system('touch pwned')\n"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder that others may look into, up to the root: pytest's own may not be."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER.format(body="print(x)"))
    (folder / "main.py").write_text(MAIN)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious")
    monkeypatch.chdir(folder)
    return folder


def own(project: Path) -> Path:
    return project / ".asyncguard_cache"


def find(project: Path, *, cached: bool = True) -> list[tuple[str, int, str]]:
    settings = Settings(root=project, jobs=1, cache=cached)
    return [(f.path, f.line, f.message) for f in check_paths([project], settings).findings]


def snapshot(project: Path) -> dict[str, object]:
    """All that lies around the cache folder: kinds, times and contents."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(project.parent):
        if Path(folder) == project and ".asyncguard_cache" in folders:
            folders.remove(".asyncguard_cache")
        for name in [*folders, *files]:
            path = Path(folder, name)
            status = path.lstat()
            regular = stat.S_ISREG(status.st_mode)
            when = status.st_mtime_ns if path != project else 0  # the cache folder is made in it
            found[str(path)] = status.st_mode, when, path.read_bytes() if regular else None
    return found


def assert_harmless(project: Path) -> None:
    expected = find(project, cached=False)
    assert [line for _, line, _ in expected] == [3]
    before = snapshot(project)
    assert find(project) == find(project) == expected
    assert snapshot(project) == before
    assert not list(project.parent.rglob("pwned"))


@pytest.mark.parametrize("data", [MALICE, CODE, b""], ids=["pickle", "code", "nothing"])
@pytest.mark.parametrize("name", NAMES)
def test_planted_files_never_run(name: str, data: bytes, project: Path) -> None:
    own(project).mkdir()
    (own(project) / name).write_bytes(data)
    assert_harmless(project)


@pytest.mark.parametrize("target", ["precious", "missing", ".", "/dev/zero", "/dev/full"])
@pytest.mark.parametrize("name", ["lint.msgpack", ".gitignore", "lint.abc.tmp"])
def test_planted_links_are_not_followed(name: str, target: str, project: Path) -> None:
    own(project).mkdir()
    (own(project) / name).symlink_to(project.parent / "outside" / target)
    assert_harmless(project)


@pytest.mark.parametrize("target", [".", "missing", "precious"])
def test_a_link_in_place_of_the_folder_is_not_followed(target: str, project: Path) -> None:
    own(project).symlink_to(project.parent / "outside" / target)
    assert_harmless(project)
    assert own(project).is_symlink()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("making a device takes root")


@pytest.mark.parametrize("plant", [fifo, listening, device, Path.mkdir])
@pytest.mark.parametrize("name", ["lint.msgpack", ".gitignore", "lint.abc.tmp", ""])
def test_what_is_not_a_file_is_not_opened(
    plant: Callable[[Path], None], name: str, project: Path
) -> None:
    if name:
        own(project).mkdir()
    plant(own(project) / name)
    assert_harmless(project)


@pytest.fixture
def nobody(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give up the rights of root, which no permission stops."""
    if os.geteuid():
        yield
        return
    home = project.parent / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    for path in (project, home):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        secret.key()
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o555, 0o333])
def test_a_folder_without_permission_is_no_cache(mode: int, project: Path, nobody: None) -> None:
    own(project).mkdir()
    own(project).chmod(mode)
    assert_harmless(project)
    own(project).chmod(0o755)


def test_a_project_without_permission_has_no_cache(project: Path, nobody: None) -> None:
    project.chmod(0o555)
    assert_harmless(project)
    assert not own(project).exists()
    project.chmod(0o755)


@pytest.mark.parametrize("room", [0, 10, 100, 1000])
def test_a_full_disk_leaves_nothing_behind(room: int, project: Path) -> None:
    """The system refuses to write more than some bytes to any file."""
    expected = find(project, cached=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    secret.key()
    before = snapshot(project)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        found = find(project)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert found == expected
    assert snapshot(project) == before
    ignored = {".gitignore"} if room >= len(cache.IGNORE) else set()  # never a part of it
    assert {path.name for path in own(project).iterdir()} == ignored
    assert_harmless(project)


@pytest.mark.parametrize("name", ["mkstemp", "replace", "scandir"])
def test_a_folder_may_vanish_at_any_time(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tempfile if name == "mkstemp" else os
    happens = getattr(module, name)

    def vanishing(*arguments: object, **options: object) -> object:
        if "asyncguard_cache" in str(arguments):
            shutil.rmtree(own(project), ignore_errors=True)
        return happens(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, vanishing)
        assert find(project) == find(project, cached=False)
    assert_harmless(project)


def test_a_project_may_vanish_while_it_is_checked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = cache.Cache.store

    def vanishing(self: cache.Cache, *arguments: object) -> None:
        shutil.rmtree(project)
        store(self, *arguments)  # type: ignore[arg-type]

    expected = find(project, cached=False)
    monkeypatch.setattr(cache.Cache, "store", vanishing)
    assert find(project) == expected
    assert not list(project.rglob("*.py"))


def test_a_cache_that_somebody_else_signed_is_not_believed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything in it fits but the signature, and it says that there is nothing to find."""
    expected = find(project)
    with monkeypatch.context() as patch:
        patch.setattr(secret, "key", lambda: b"x" * secret.BYTES)
        patch.setattr(worker.Worker, "check", lambda _, path, *__: worker.FileFacts(path))
        (own(project) / cache.FILE).unlink()
        assert find(project) == find(project) == []
    assert find(project) == expected
    assert_harmless(project)


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**62, 2**40, 10**6])
def test_a_length_that_the_file_lacks_is_not_read(length: int, project: Path) -> None:
    find(project)
    file = own(project) / cache.FILE
    data = file.read_bytes()
    at = len(cache.HEADER) + 32
    file.write_bytes(data[:at] + length.to_bytes(8, "big") + data[at + 8 :])
    assert_harmless(project)


def test_without_a_place_for_the_key_there_is_no_cache(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "home").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "home"))
    assert_harmless(project)
    assert not own(project).exists()


def test_the_key_is_for_its_user_alone_and_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    key = secret.key()
    assert key == secret.key()
    assert key is not None
    assert len(key) == secret.BYTES
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"damaged")
    assert secret.key() not in (None, key, b"damaged")


def test_a_killed_run_leaves_a_usable_cache_and_its_remains_go(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = find(project)
    (project / "main.py").write_text(MAIN + "\n")
    child = os.fork()
    if not child:  # it dies where the new cache has been written and not yet put in place
        os.replace = lambda *_: os._exit(9)  # type: ignore[assignment]
        find(project)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (left,) = own(project).glob("lint.*.tmp")
    assert find(project) == expected
    assert left.exists()  # it may be of a run that is still writing
    long_ago = time.time() - 2 * cache.STALE
    os.utime(left, (long_ago, long_ago))
    (project / "main.py").write_text(MAIN)
    assert find(project) == expected
    assert not left.exists()


def test_runs_at_the_same_time_leave_a_usable_cache(project: Path) -> None:
    expected = find(project, cached=False)
    for body in ("print(x)", "print(x)  # again"):
        (project / "helper.py").write_text(HELPER.format(body=body))
        running = [in_a_child(lambda: find(project) == expected) for _ in range(4)]
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in running] == [0] * 4
    assert {path.name for path in own(project).iterdir()} == {".gitignore", cache.FILE}
    assert find(project) == expected


def in_a_child(holds: Callable[[], bool]) -> int:
    """Ask in another process, which ends with 0 if it holds; return its number."""
    child = os.fork()
    if not child:
        status = 2
        try:
            status = 0 if holds() else 1
        finally:
            os._exit(status)
    return child


def test_a_file_that_changes_while_it_is_checked_is_not_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = worker.Worker.check

    def saving(self: worker.Worker, path: str, *rest: object) -> object:
        facts = check(self, path, *rest)  # type: ignore[arg-type]
        if path.endswith("helper.py"):
            Path(path).write_text(HELPER.format(body="history.append(x)"))
        return facts

    with monkeypatch.context() as patch:
        patch.setattr(worker.Worker, "check", saving)
        find(project)
    assert find(project) == find(project, cached=False) == []


def test_a_file_that_could_not_be_read_is_read_again(project: Path, nobody: None) -> None:
    """Its size and time stay the same when it gets its permissions back."""
    expected = find(project, cached=False)
    with as_root():
        (project / "helper.py").chmod(0)
    assert any("Permission denied" in message for _, _, message in find(project))
    with as_root():
        (project / "helper.py").chmod(0o644)
    assert find(project) == expected


@contextmanager
def as_root() -> Iterator[None]:
    """Be root again for a while, if we were."""
    before = os.geteuid()
    if not os.getuid():
        os.seteuid(0)
    try:
        yield
    finally:
        os.seteuid(before)


DYING = """
import errno, os, sys
from pathlib import Path
from asyncguard.lint.check import check_paths
from asyncguard.lint.run import worker
from asyncguard.lint.run.settings import Settings

parent, check = os.getpid(), worker.Worker.check

def dying(self, path, *rest):
    if path.endswith("main.py") and os.getpid() != parent:
        os._exit(errno.EPIPE)
    return check(self, path, *rest)

worker.Worker.check = dying
if __name__ == "__main__":
    for finding in check_paths([Path.cwd()], Settings(root=Path.cwd(), jobs=2)).findings:
        print(finding.message)
"""


def test_a_process_that_died_is_not_remembered(project: Path) -> None:
    """A program of its own: processes are forked or started anew, as other threads run or not."""
    expected = find(project, cached=False)
    for number in range(20):
        (project / f"plain{number}.py").write_text(f"x = {number}\n")
    program = project.parent / "dying.py"
    program.write_text(DYING)
    done = subprocess.run(
        [sys.executable, program], cwd=project, capture_output=True, text=True, timeout=120
    )
    assert "died" in done.stdout, done.stdout + done.stderr
    assert find(project) == expected


def test_a_file_whose_name_is_not_text_is_checked(project: Path) -> None:
    path = os.fsencode(project) + b"/na\xffme.py"
    Path(os.fsdecode(path)).write_text(MAIN.replace("log(loss)", "print(loss)"))
    assert len(find(project)) == len(find(project)) == len(find(project, cached=False)) == 2
