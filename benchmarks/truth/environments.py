"""The environments of the packages: torch once, and beside it what each package needs.

`.venvs/truth/base` holds torch, torchvision and torchaudio of one release, a build for CUDA that
runs on the CPU; a package's own environment sees it, and adds to it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venvs" / "truth"
BASE = ("torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1")
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONPATH": str(ROOT),  # environments may be shared by several checkouts
}
NEEDED = ("numpy>=2,<2.4", "setuptools<81", "wheel", "pytest>=8")


def interpreter(name: str, install: list[str], *, without_dependencies: list[str]) -> Path:
    """Set up a package's environment where it is not yet; return its interpreter."""
    base = _made("base", [*BASE, *NEEDED], ["--editable", "."])
    if not install:
        return base
    return _made(
        name, install, ["--no-deps", *without_dependencies] if without_dependencies else []
    )


def _made(name: str, install: list[str], more: list[str]) -> Path:
    folder = HOME / name
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    wanted = json.dumps([install, more])
    if ready.exists() and ready.read_text() == wanted:
        return python
    print(f"setting up {folder.relative_to(ROOT)}: {' '.join(install)}", flush=True)
    if name == "base":
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [*_pip(python), "install"]
        subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        _see_base(folder)
        pip = [*_pip(HOME / "base" / "bin" / "python"), "--python", python, "install"]
    limits = HOME / "torch.txt"
    limits.write_text("\n".join(BASE) + "\n")
    subprocess.run([*pip, "--constraint", limits, *install], check=True)
    if more:
        subprocess.run([*pip, *more], check=True, cwd=ROOT)
    ready.write_text(wanted)
    return python


def _pip(python: Path) -> list[str | Path]:
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _see_base(folder: Path) -> None:
    """Let an environment import what the base has; what it has itself comes first."""
    (site,) = folder.glob("lib/python3*/site-packages")
    (base,) = (HOME.resolve() / "base").glob("lib/python3*/site-packages")
    (site / "truth_base.pth").write_text(f"import site; site.addsitedir({str(base)!r})\n")


def source(requirement: str, where: Path) -> Path:
    """The unpacked source distribution of a release, downloaded once."""
    if not where.exists():
        with tempfile.TemporaryDirectory() as folder:
            name = requirement.partition("==")[0]
            options = ["download", "--no-deps", "--no-binary", name, "--dest", folder]
            pip = _pip(HOME / "base" / "bin" / "python")
            subprocess.run([*pip, *options, requirement], check=True)
            (archive,) = Path(folder).iterdir()
            shutil.unpack_archive(archive, where)
    (top,) = where.iterdir()
    return top


def folders(python: Path, modules: list[str]) -> list[Path]:
    """Where the modules of a package lie, without importing them."""
    asked = (
        "import importlib.util, json, sys; print(json.dumps([list("
        "importlib.util.find_spec(name).submodule_search_locations)[0] for name in sys.argv[1:]]))"
    )
    done = subprocess.run(
        [python, "-c", asked, *modules], check=True, capture_output=True, text=True
    )
    return [Path(folder) for folder in json.loads(done.stdout)]
