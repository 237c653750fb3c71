"""The shipped catalogue is complete and true to the frameworks; a broken file is named."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
import textwrap
from pathlib import Path

import pytest

from asyncguard import catalogue
from asyncguard.catalogue import CatalogueError, SyncPoint
from asyncguard.model import Confidence
from asyncguard.runtime import versions
from tests.frameworks import require

POINTS = list(catalogue.load())
FRAMEWORKS = list(catalogue.load().frameworks.values())

MINIMAL = """
schema = 1
framework = "toy"
modules = ["toy"]
checked_version = "1.0"
asynchronous_cpu = true

[[sync]]
id = "toy.wait"
rule = "ASG202"
kind = "barrier"
waits_for = "everything"
url = "https://example.org/wait"
advice = "Wait once after the loop."
source = { functions = ["toy.wait"] }
runtime = { patch = ["toy.wait"] }
hit = "toy.wait()"
miss = "toy.weight()"
"""


def load(tmp_path: Path, text: str) -> catalogue.Catalogue:
    (tmp_path / "toy.toml").write_text(textwrap.dedent(text), encoding="utf-8")
    return catalogue.load_directory(tmp_path)


# ---- the format


def test_a_minimal_file_loads(tmp_path: Path) -> None:
    point = load(tmp_path, MINIMAL)["toy.wait"]
    assert point.framework == "toy"
    assert point.source is not None
    assert point.source.functions == ("toy.wait",)
    assert point.confidence is Confidence.HIGH


@pytest.mark.parametrize("key", ["url", "advice", "hit", "miss", "rule", "kind", "waits_for"])
def test_a_missing_key_is_named_with_file_and_entry(tmp_path: Path, key: str) -> None:
    text = re.sub(rf"^{key} = .*$", "", MINIMAL, flags=re.MULTILINE)
    with pytest.raises(CatalogueError, match=rf"toy\.toml: sync 'toy\.wait': missing '{key}'"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"barrier"', '"nap"', "unknown kind 'nap'"),
        ('"everything"', '"godot"', "unknown waits_for 'godot'"),
        ('"ASG202"', '"E501"', "rule 'E501' is no rule code"),
        ('"https://', '"http://', "url must start with https://"),
        ('functions = ["toy.wait"]', 'funktions = ["toy.wait"]', "unknown key 'funktions'"),
        ('functions = ["toy.wait"]', 'operators = ["mask"]', "operators: unknown 'mask'"),
        ('functions = ["toy.wait"]', 'receiver = "thing"', "receiver: unknown 'thing'"),
        ('patch = ["toy.wait"]', 'moves = "sideways"', "moves: unknown 'sideways'"),
        ('patch = ["toy.wait"]', 'value = "you"', "value: unknown 'you'"),
        ("patch = [", 'times = { "toy.w" = 2 }, patch = [', "runtime: times: unknown 'toy.w'"),
        ('advice = "', 'confidence = "total"\nadvice = "', "confidence: unknown 'total'"),
        ('advice = "', 'colour = "red"\nadvice = "', "unknown key 'colour'"),
        ('runtime = { patch = ["toy.wait"] }\n', "", "say why in 'one_sided'"),
    ],
)
def test_a_bad_entry_is_named_with_file_and_entry(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    with pytest.raises(CatalogueError) as raised:
        load(tmp_path, MINIMAL.replace(old, new))
    assert "toy.toml: sync 'toy.wait'" in str(raised.value)
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (MINIMAL.replace("schema = 1", "schema = 99"), "schema is 99; expected 1"),
        (MINIMAL.replace('modules = ["toy"]', ""), "missing 'modules'"),
        (MINIMAL.replace("asynchronous_cpu", "asinchronous_cpu"), "asinchronous_cpu"),
        (MINIMAL.replace("[[sync]]", '[returns]\nthing = ["a"]\n[[sync]]'), "value kind 'thing'"),
        (MINIMAL.replace("[[sync]]", '[returns]\nhost = "a"\n[[sync]]'), "list of strings"),
        (MINIMAL.replace("[[sync]]", "[steps]\nhop = 1\n[[sync]]"), "unknown key 'hop'"),
        (
            MINIMAL.replace("[[sync]]", 'moves = "to"\n[[sync]]'),
            "moves is 'to'",
        ),
        ("schema = 1\n[language]\nexits = 'exit'", "'exits' must be a list of strings"),
        ("schema = 1\n[language]\nleaves = ['exit']", "[language]: unknown key 'leaves'"),
        ("schema = 1\n[[trigger]]\nprotocol = '__bool__'\nfoo = 1", "trigger '__bool__'"),
        ("schema = ", "toy.toml"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(CatalogueError) as raised:
        load(tmp_path, text)
    assert "toy.toml" in str(raised.value)
    assert complaint in str(raised.value)


# ---- files that extend a framework

EXTENSION = """
schema = 1
extends = "toy"
modules = ["toy_npu"]
checked_version = "2.0"
devices = ["npu"]
moves = ["npu"]
device_functions = { "toy_npu.device" = "npu" }

[aliases]
"toy_npu.npu" = "toy.npu"

[returns]
event = ["toy.npu.Event"]

[memory]
stream_contexts = ["toy.npu.stream"]

[steps]
functions = ["toy_npu.mark"]

[[sync]]
id = "toy.npu.wait"
rule = "ASG202"
kind = "barrier"
waits_for = "device"
url = "https://example.org/npu"
advice = "Wait once after the loop."
source = { functions = ["toy.npu.wait"] }
one_sided = "It runs there alone."
hit = "toy.npu.wait()"
miss = "toy.npu.weight()"
"""


def test_a_file_extends_a_framework_with_a_device(tmp_path: Path) -> None:
    """Whichever of the two is read first."""
    (tmp_path / "a_npu.toml").write_text(EXTENSION, encoding="utf-8")
    text = MINIMAL.replace("[[sync]]", '[returns]\nevent = ["toy.Event"]\n[[sync]]', 1)
    text = text.replace("asynch", 'devices = ["gpu"]\nasynch')
    found = load(tmp_path, text)
    toy = found.frameworks["toy"]
    assert list(found.frameworks) == ["toy"]
    assert toy.companions == ("toy_npu",)
    assert toy.modules == ("toy",)
    assert toy.checked_version == "1.0"
    assert toy.devices == ("gpu", "npu")
    assert found.moves == {"npu"}
    assert toy.aliases == {"toy_npu.npu": "toy.npu"}
    assert toy.returns == {"event": ("toy.Event", "toy.npu.Event")}
    assert toy.steps.functions == ("toy_npu.mark",)
    assert toy.memory is not None
    assert toy.memory.stream_contexts == ("toy.npu.stream",)
    assert [point.id for point in toy.sync] == ["toy.wait", "toy.npu.wait"]
    assert found["toy.npu.wait"].framework == "toy"
    extension = catalogue.Extension(tmp_path / "a_npu.toml", ("toy_npu",), "2.0", ("npu",))
    assert toy.extensions == (extension,)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('extends = "toy"', 'extends = "doll"', "extends is 'doll'; one of toy"),
        ('extends = "toy"', "extends = 3", "extends is 3; one of toy"),
        ("moves =", "asynchronous_cpu = true\nmoves =", "'asynchronous_cpu' is for toy as a whole"),
        ("moves =", "moved =", "unknown key 'moved'"),
        ("modules =", "names =", "missing 'modules'"),
        ('"toy.npu.wait"\nrule', '"toy.wait"\nrule', "'toy.wait': the id is taken"),
        ("stream_contexts =", "streams =", "[memory]: unknown key 'streams'"),
    ],
)
def test_a_bad_extension_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in EXTENSION
    (tmp_path / "npu.toml").write_text(EXTENSION.replace(old, new), encoding="utf-8")
    with pytest.raises(CatalogueError) as raised:
        load(tmp_path, MINIMAL)
    assert "npu.toml" in str(raised.value)
    assert complaint in str(raised.value)


def test_no_code_names_a_device_that_a_file_adds() -> None:
    """The core knows CUDA's model; every other device of torch's is data."""
    devices = {d for f in FRAMEWORKS for each in f.extensions for d in each.devices}
    modules = {m for f in FRAMEWORKS for each in f.extensions for m in each.modules}
    assert {"npu", "xla", "hpu", "musa", "mlu", "mps", "xpu"} <= devices
    words = re.compile(rf"\b({'|'.join((devices | modules) - {'mps'})})\b")
    package = Path(catalogue.__file__).parent.parent
    named = [path for path in package.rglob("*.py") if words.search(path.read_text("utf-8"))]
    assert [str(path.relative_to(package)) for path in named if "adapters" not in path.parts] == []


def test_no_function_triggers_twice() -> None:
    named = [name for trigger in catalogue.load().triggers for name in trigger.functions]
    assert sorted(named) == sorted(set(named))  # of two, the linter would know the last one only


def test_an_id_that_is_taken_names_both_files(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(MINIMAL.replace('"toy"', '"other"'), encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"toy\.toml.*id is taken in .*other\.toml"):
        load(tmp_path, MINIMAL)


def test_an_empty_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="reinstall"):
        catalogue.load_directory(tmp_path)


# ---- what ships


def test_the_frameworks_of_the_design_ship() -> None:
    names = {framework.name for framework in FRAMEWORKS}
    assert {"torch", "mxnet", "cupy", "jax", "tensorflow", "engine", "numpy"} <= names


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_every_entry_is_complete(point: SyncPoint) -> None:
    assert re.fullmatch(r"https://[\w.-]+/\S+", point.url)
    assert point.advice.strip().endswith((".", ")"))
    assert len(point.advice) < 200, "advice is one or two sentences"
    for side in (point.source, point.runtime):
        assert side is None or any(
            value for name, value in side._asdict().items() if name not in ("receiver", "value")
        ), "a side says what to look for"
    assert not re.search(r"[^\d.,<>=!]", point.versions)
    for snippet in (point.hit, point.miss):
        tree = ast.parse(snippet)
        assert any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
    assert point.hit != point.miss or point.source is None


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_a_hit_names_what_its_entry_names(point: SyncPoint) -> None:
    syntax = point.source and (point.source.protocols, point.source.operators, point.source.launch)
    if not syntax or any(syntax):
        pytest.skip("protocols, operators and launches are syntax")
    tree = ast.parse(point.hit)
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    names = {name.rpartition(".")[2] for name in point.source.methods + point.source.functions}
    assert called & names


def test_every_kind_of_hook_is_named_once() -> None:
    """One runtime path belongs to one entry, but for those that tell calls apart."""
    owners: dict[tuple[str, str], list[SyncPoint]] = {}
    for point in POINTS:
        for path in point.runtime.patch if point.runtime else ():
            owners.setdefault((point.framework, path), []).append(point)
    for path, points in owners.items():
        if len(points) > 1:
            listed = {point.source.arguments for point in points if point.source}
            for point in points:
                told_apart = (
                    len(listed) == len(points)
                    or point.runtime.moves
                    or point.runtime.operators
                    or point.runtime.value == "elements"
                    or (point.source and point.source.operators)
                )
                assert told_apart, f"{path}: {point.id} is not told from the others"


def resolve(path: str) -> object:
    """The object at a dotted path: the longest importable module, then attributes."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            thing = getattr(thing, name)
        return thing
    raise ImportError(path)


def of_absent_packages(framework: catalogue.Framework) -> set[str]:
    """The entries of files that extend a framework for a package that is not installed here."""
    return {
        entry["id"]
        for extension in framework.extensions
        if extension.modules and not any(map(importlib.util.find_spec, extension.modules))
        for entry in catalogue.read(extension.path)["sync"]
    }


def stale_paths(framework: str) -> list[str]:
    """What the entries of a framework name and the installed framework lacks."""
    found = catalogue.load().frameworks[framework]
    name = "asyncguard" if framework == "engine" else framework
    version = getattr(importlib.import_module(name), "__version__", "")
    absent = of_absent_packages(found)
    points = [
        point
        for point in found.sync
        if versions.matches(version, point.versions) and point.id not in absent
    ]
    paths = [path for point in points if point.runtime for path in point.runtime.patch]
    paths += [path for point in points if point.source for path in point.source.functions]
    paths += (
        found.steps.runtime
        + found.steps.runtime_compiled
        + found.steps.functions
        + found.steps.contexts
    )
    own = tuple(f"{module}." for module in found.modules)
    paths = [path for path in paths if path.startswith(own)]
    return [path for path in paths if not leads_somewhere(path)]


def leads_somewhere(path: str) -> bool:
    if path.endswith(".__buffer__") and sys.version_info < (3, 12):
        return True  # PEP 688
    try:
        return callable(resolve(path))
    except (ImportError, AttributeError):
        return False


@pytest.mark.parametrize(
    "framework",
    [
        "torch", "mxnet", "cupy", "jax", "tensorflow", "engine", "paddle", "mlx", "tinygrad",
        "onnxruntime", "warp", "numba",
    ],
)  # fmt: skip
def test_what_the_entries_name_exists_in_the_real_framework(framework: str) -> None:
    require("asyncguard.engine" if framework == "engine" else framework)
    assert stale_paths(framework) == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")
def test_torch_operators_that_depend_on_data_are_all_known() -> None:
    import torch

    tags = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
    tagged = set()
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if space == "aten" and overload != "out":
            op = getattr(getattr(torch.ops.aten, base), overload or "default", None)
            if op is not None and tags & set(op.tags):
                tagged.add(base)
    known = {"item", "_local_scalar_dense", "_unique", "_ctc_loss"}
    for point in catalogue.load().frameworks["torch"].sync:
        known |= (
            {op.partition("::")[2].partition(".")[0] for op in point.runtime.dispatch}
            if point.runtime
            else set()
        )
    assert tagged - known == set()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")
def test_torch_functions_that_take_a_device_and_no_tensor_make_arrays_anywhere() -> None:
    import torch

    made = set()
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        taken = {str(each.type) for each in schema.arguments if each.name != "out"}
        is_public = space == "aten" and not name.startswith("_")
        takes_device = any(each.name == "device" for each in schema.arguments)
        if is_public and takes_device and not any("Tensor" in each for each in taken):
            made.add(name.replace("fft_", "fft.", 1))
    functions = {name for name in made if leads_somewhere(f"torch.{name}")}
    anywhere = catalogue.load().frameworks["torch"].returns["device_or_host"]
    known = {path.removeprefix("torch.") for path in anywhere}
    of_a_tensor = {"normal", "sparse_coo_tensor", "Generator"}  # mostly, or no array
    assert functions - known == of_a_tensor & functions
