"""The screen: which functions are worth a tree. It may ask for too many, and never for too few."""

from __future__ import annotations

import ast
import textwrap

import pytest

from asyncguard.lint import knowledge
from asyncguard.lint.modules.project import Project
from asyncguard.lint.modules.screen import Outline

HEADER = "import math\nimport numpy as np\nimport torch\n\n"


def outlined(code: str) -> Outline:
    """Outline a file that imports torch."""
    text = HEADER + textwrap.dedent(code)
    project = Project({}, knowledge.load())
    return project.analysis("file.py", text, ast.parse(text), ("torch",)).outline


def roots(code: str) -> list[str]:
    """Return the names of the functions that are worth a look."""
    found = outlined(code)
    return [found.functions[index].name for index in sorted(found.roots)]


def function(body: str, name: str = "f") -> str:
    """Return a function with a body."""
    return f"def {name}(self, x, items, depth):\n" + textwrap.indent(textwrap.dedent(body), "    ")


@pytest.mark.parametrize(
    "body",
    [
        "for x in items:\n    print(x.item())",
        "while x > 0:\n    x = step(x)\n    print(x)",
        "while bool(x):\n    pass",
        "for y in items:\n    z = y * 2\n    if z > 1:\n        pass",
        "for y in items:\n    np.linalg.norm(y)",
        "norm = np.linalg.norm\nfor y in items:\n    norm(y)",
        "def inner(y):\n    return y.item()\nfor y in items:\n    inner(y)",
        "for y in items:\n    print(f'{y}')",
        "for y in items:\n    if check(y):\n        pass",
        "for y in items:\n    if y.is_last():\n        pass",
        "for y in items:\n    known = y.found.get(depth)\n    if known:\n        pass",
        "for y in items:\n    same = find(y)\n    if same == y.T:\n        pass",
        "for y in items:\n    if 'id' in y:\n        pass",
        "for i in range(depth):\n    i = x[i]\n    print(i)",
        "for k, y in x.items():\n    print(f'{k}: {y}')",
        "for y in x.items():\n    print(f'{y}')",
        "for i, (k, y) in enumerate(zip(x, items)):\n    print(k)",
        "for y in items:\n    n = y.sum()\n    m = n * 2\n    if m > 1:\n        pass",
        "for y in items:\n    torch.arange(y.max())",
        "self.size = x\nfor y in items:\n    self.size.to(y.device)",
        "for y in items:\n    math.log(y)",
        "at = torch.triu_indices(depth, depth)\nfor y in items:\n    y[..., at[0], at[1]]",
        "self.register_buffer('n', x)\nfor y in items:\n    if self.n > self.limit:\n        pass",
        "for y in items:\n    z = y.sum(0)\n    if z[0] > 1:\n        pass",
        "kept = torch.zeros(3)\nfor i in range(3):\n    kept[i] = torch.mean(x)",
        "a = 1\nfor y in items:\n    b = a + 1\n    a = b * y.sum()\n    if b > 1:\n        pass",
    ],
)
def test_a_read_beside_a_loop_is_looked_at(body: str) -> None:
    assert roots(function(body)) == ["f"]


@pytest.mark.parametrize(
    "body",
    [
        "print(x.item())",
        "for y in range(4):\n    self.use(y)",
        "for y in items:\n    assert y, f'{y}'",
        "for y in items:\n    y.norm(2)",
        "for y in items:\n    self.mean(y)",
        "for i in range(len(items)):\n    self.add(f'block{i}', str(i + 1))",
        "for i, y in enumerate(items):\n    self.add(str(i), math.sqrt(2 * i))",
        "for y in items:\n    if y.shape[0] > 1:\n        raise ValueError(f'{y}')",
        "for y in items:\n    self.logger.info('next')",
        "for y in items:\n    n = len(y) * 2\n    if n > 1:\n        pass",
        "for y in items:\n    torch.arange(x.shape[1], device=x.device)",
        "for y in items:\n    y.masked_fill(y > 0, float('-inf'))",
        "for i in range(self.config.layers):\n    pass",
        "self.width = 4\nfor y in items:\n    math.sqrt(self.width)",
        "batch, width = x.shape\nfor i in range(batch * width):\n    pass",
        "for y in items:\n    if torch.is_grad_enabled():\n        pass",
        "at = slice(depth, None)\nfor y in items:\n    y[:, at]",
        "if depth:\n    depth = slice(-depth, None)\nfor y in items:\n    y[:, depth]",
        "for y in items:\n    max(len(z) for z in y)",
        "kept = torch.zeros(3)\nfor i in range(3):\n    kept[i] = len(items)",
        "self.register_buffer('size', x)\nfor y in items:\n    self.size.to(y.device)",
        "self.size = torch.nn.Buffer(x)\nfor y in items:\n    self.size.to(y.device)",
        "for y in items:\n    if not torch.jit.is_scripting() or is_compiling():\n        pass",
        "for y in items:\n    known = y.is_known.get(depth)\n    if known:\n        pass",
        "for y in items:\n    kind = find(y)\n    if kind == Kind.MANY:\n        pass",
        "for k, y in x.items():\n    self.add(f'{k}')",
        "for k in x.keys():\n    self.add(f'{k}')",
        "for i, (k, y) in enumerate(x.named_children()):\n    self.add(f'{k}{i}')",
    ],
)
def test_what_can_be_no_device_value_is_not(body: str) -> None:
    assert roots(function(body)) == []


def test_a_parameter_that_is_declared_a_number_is_one() -> None:
    code = "def f(items, n: {}):\n    for y in items:\n        range(n)\n"
    assert roots(code.format("int")) == roots(code.format("float | None")) == []
    assert roots(code.format("torch.Tensor")) == roots(code.format("Size")) == ["f"]


def test_what_a_model_is_handed_is_where_it_is_as_long_as_it_is_the_same() -> None:
    def moves(before: str, to: str = "x.device") -> list[str]:
        body = f"{before}\nreturn y.to({to}) + x"
        return roots("class A:\n    def forward(self, x, y):\n" + textwrap.indent(body, " " * 8))

    assert moves("y = y[0].view(-1)") == []
    assert moves("x = x + 1", "x.device, x.dtype") == []
    assert moves("x = x + 1", "self.device") == moves("", "next(x).device") == ["forward"]
    assert moves("y = make()") == ["forward"]
    assert moves("y = torch.zeros(3)") == ["forward"]
    own = "class A:\n    def forward(self, x):\n        return self.mask(x).to(x.device)"
    assert roots(own) == ["forward"]
    assert roots("def compute_loss(x, y):\n    return y.to(x.device)") == ["compute_loss"]


def test_a_logger_of_a_module_is_told_by_its_full_name() -> None:
    code = "def on_train_batch_end(self, loss):\n    {}.log({{'loss': loss}})"
    assert roots("import wandb\n" + code.format("wandb")) == ["on_train_batch_end"]
    assert roots("import other\n" + code.format("other")) == []


def test_a_hook_of_the_framework_needs_no_loop() -> None:
    assert roots(function("return x.item()", "forward")) == ["forward"]
    assert roots(function("return x", "forward")) == []


def test_a_loop_that_calls_a_function_with_a_read_is_looked_at() -> None:
    helper = function("print(x.item())", "helper")
    assert roots(helper + "\n" + function("for y in items:\n    helper(y)")) == ["f"]
    assert roots(helper + "\n" + function("helper(x)")) == []


@pytest.mark.parametrize(
    "body", ["g = helper\nfor y in items:\n    g(y)", "for y in items:\n    y.map(helper)"]
)
def test_so_is_one_that_has_it_by_another_name_or_hands_it_on(body: str) -> None:
    helper = function("print(x.item())", "helper")
    assert roots(helper + "\n" + function(body)) == ["f"]
    assert roots(helper + "\n" + function("helper = items\n" + body)) == []


def test_so_is_one_that_has_it_by_an_attribute() -> None:
    helper = function("print(x.item())", "helper")
    given = function("self.read = helper", "__init__")
    assert roots(f"{helper}\n{given}\n" + function("for y in items:\n    self.read(y)")) == ["f"]
    taken = given.replace("(self", "(self, helper")
    assert roots(f"{helper}\n{taken}\n" + function("for y in items:\n    self.read(y)")) == []


def test_a_file_named_like_a_framework_changes_nothing_elsewhere() -> None:
    text = HEADER + function("for y in items:\n    torch.tensor([1, 2], device=y.device)")
    modules = {"book.torch": "book/torch.py", "book.use": "book/use.py"}
    for known in ({}, modules):
        project = Project(known, knowledge.load())
        found = project.analysis("file.py", text, ast.parse(text), ("torch",)).outline
        assert found.roots == {0}, known


def test_a_loop_that_sets_things_up_is_looked_at_if_it_may_go_over_steps() -> None:
    reads = "for {}:\n    print({}.item())"
    assert roots(function(reads.format("y in items", "y"), "init_weights")) == []
    assert roots(function(reads.format("y in items", "y"), "set_weights")) == ["set_weights"]
    for over in ("batch in items", "y in loader", "y in tqdm(self.train_set)"):
        code = function(reads.format(over, over.split()[0]), "save_outputs")
        assert roots(code) == ["save_outputs"]
    drawn = "for i in range(depth):\n    x = next(items)\n    print(x.item())"
    assert roots(function(drawn, "export")) == ["export"]
    nested = "def run(m):\n    for y in items:\n        print(m(y).item())\nself.run = run"
    assert roots(function(nested, "setup")) == ["setup"]


def test_a_function_that_reads_the_clock_twice_is_looked_at() -> None:
    code = "import time\ndef f(model):\n    start = time.time()\n    model()\n"
    assert roots(code + "    return time.time() - start\n") == ["f"]
    assert roots(code) == []


def test_a_name_that_two_imports_bind_may_be_either() -> None:
    code = "if x:\n    from torch import norm\nelse:\n    from numpy.linalg import norm\n"
    assert roots(code + function("for y in items:\n    norm(y)")) == ["f"]


def test_a_module_with_no_loop_of_its_own_is_not_looked_at() -> None:
    assert not outlined("if torch.cuda.is_available():\n    print(torch.ones(1))").module_suspicious
    assert outlined("for x in batches:\n    print(model(x))").module_suspicious
    assert outlined("class A:\n    for x in batches:\n        print(model(x))").module_suspicious
