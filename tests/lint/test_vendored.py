"""A framework among the checked files is judged by the catalogue, as if it were installed."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths, select
from asyncguard.lint.program import linking
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.run import worker
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence, Finding

TRAIN = """\
import mxnet as mx
from mxnet import autograd, gluon, nd, npx
def train(net, loader, trainer, loss_fn):
    total = nd.zeros(1)
    for X, y in loader:
        with autograd.record():
            l = loss_fn(net(X), y)
        l.backward()
        trainer.step(X.shape[0])
        total += l.mean()
        print(float(total))
        npx.waitall()
class Net(gluon.Block):
    def forward(self, x):
        y = nd.relu(x)
        if y.sum() > 0:
            return y
        return mx.nd.array(y.asnumpy())
"""
# What stands for the framework's source: it tells less than the catalogue knows.
FRAMEWORK = {
    "__init__.py": "from . import autograd, gluon, nd, npx\n",
    "autograd.py": "def record():\n    pass\n",
    "gluon.py": "class Block:\n    def __call__(self, *x):\n        return self.forward(*x)\n",
    "nd.py": "".join(f"def {name}(x):\n    return _(x)\n" for name in ("zeros", "relu", "array")),
    "npx.py": "def waitall():\n    _call()\n",
}  # fmt: skip


AUDIT = Settings(cache=False, jobs=1, select=("ALL",))


def in_script(*paths: Path) -> list[Finding]:
    found = check_paths(paths, AUDIT).findings
    return [without_words(finding) for finding in found if finding.path.endswith("train.py")]


def without_words(finding: Finding) -> Finding:
    """Leave out the evidence of who uses a function, and what follows: other files may name it."""
    evidence = tuple(
        i for i in finding.evidence if not i.startswith(("reach.", "used.", "file.", "callers."))
    )
    sure = Confidence.MEDIUM
    return replace(finding, evidence=evidence, probability=0.0, confidence=sure)


@pytest.mark.parametrize("where", [".", "python", "site-packages"])
def test_the_catalogue_judges_calls_of_a_framework_that_is_checked_too(
    tmp_path: Path, where: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    alone = in_script(script)
    package = tmp_path / where / "mxnet"
    package.mkdir(parents=True)
    for name, text in FRAMEWORK.items():
        (package / name).write_text(text)
    assert len(alone) == 4
    assert in_script(tmp_path) == alone


def test_the_framework_follows_its_own_code(tmp_path: Path) -> None:
    package = tmp_path / "mxnet"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helpers.py").write_text("def show(x):\n    print(x.asscalar())\n")
    fit = TRAIN.replace("        npx.waitall()", "        show(l)")
    fit = fit.replace(
        "import mxnet as mx\n", "import mxnet as mx\nfrom mxnet.helpers import show\n"
    )
    (package / "fit.py").write_text(fit)
    found = check_paths([tmp_path], AUDIT).findings
    helper = [(f.line, f.loop.value) for f in found if f.path.endswith("helpers.py")]
    assert helper == [(2, "step")]


@pytest.mark.skipif(find_spec("mxnet") is None, reason="mxnet is not installed")
def test_the_catalogue_judges_calls_of_the_real_mxnet(tmp_path: Path) -> None:
    """A script is checked among all its files, together with those that it uses most."""
    spec = find_spec("mxnet")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).parent
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    beside = [str(path) for path in sorted(source.rglob("*.py"))]
    modules = worker.index([str(script), *beside])
    assert modules["mxnet.ndarray"].startswith(str(source))
    used = [source / name for name in ("autograd.py", "gluon/block.py", "gluon/trainer.py")]
    checker = worker.Worker(modules, worker.Options())
    facts = worker.with_deep_stack(
        lambda: {str(path): checker.check(str(path)) for path in (script, *used)}
    )
    linked = linking.link(CallGraph(facts))[str(script)]
    found = select(mended({str(script): linked}, 1), AUDIT)
    assert [*map(without_words, found)] == in_script(script)
