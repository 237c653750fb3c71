"""What a value is: on the device or not, a mask or an index, a part of a model, either of two."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False)
STEP = """
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, k: int, unknown):
{body}
"""


def found(source: str) -> list[tuple[int, str]]:
    """The lines and codes of the findings in a source."""
    return [(f.line, f.code) for f in check_source(dedent(source).lstrip(), "a.py", SETTINGS)]


def codes(body: str) -> set[str]:
    """The codes of the findings in the body of a model's `forward`."""
    text = STEP.format(body=indent(dedent(body).strip(), " " * 8))
    return {finding.code for finding in check_source(text, "a.py", SETTINGS)}


MASK_READS = [
    "return x[~y]",
    "return x[y.eq(0)]",
    "return x[torch.isnan(x)]",
    "return x[(x > 0).unsqueeze(-1).expand_as(x)]",
    "return x[:, y.bool()]",
    "return x[torch.stack([x > 0, y > 0]).any(0)]",
    "return x[torch.ones(3, device=x.device, dtype=torch.bool)]",
    "return x[(x > 0).to(x.device)]",
    "padding_mask = y + 0\nreturn x[padding_mask]",
    "return unknown.scores[x > 0]",
]


def test_one_entry_of_a_dict_says_nothing_of_the_others() -> None:
    source = """
        import torch
        class Tracker:
            def __init__(self, net):
                self.net = torch.nn.Linear(2, 2).cuda()
            def add(self, image):
                self.state["image"] = self.net(image)
            def run(self, loader):
                for image in loader:
                    self.add(image)
                    state = self.state
                    if state["limit"] > 3:
                        continue
                    if state["image"].sum():
                        break
        """
    assert found(source) == [(13, "ASG104")]


def test_an_entry_of_a_mapping_is_no_part_of_an_array() -> None:
    source = """
        import torch
        def run(model, loader):
            for batch in loader:
                kept = {"scores": model(batch).cpu()}["scores"]
                kept["patches"] = model(batch)
        """
    assert found(source) == [(4, "ASG103")]


@pytest.mark.parametrize("body", MASK_READS)
def test_a_mask_is_known_as_one(body: str) -> None:
    assert codes(body) == {"ASG105"}


def test_a_slice_up_to_a_number_on_the_device_is_looked_for() -> None:
    source = """
    import torch
    class Pool(torch.nn.Module):
        def forward(self, hidden, mask: torch.Tensor):
            for i, length in enumerate(mask.sum(-1)):
                self.kept.append(hidden[i, :length].mean(0))
    """
    assert found(source) == [(5, "ASG105")]


NO_WAITS = [
    "x[~y] = 0.0",
    "mask = torch.zeros(3, device=x.device, dtype=torch.bool)\nx[mask[:, None]] = 0",
    "return x[(x > 0).to(torch.long)]",
    "return x[[slice(None)] * k + [slice(0, 2)]]",
    "index = (slice(None), 0)\nreturn x[index]",
    "index = (1, 2)\nreturn x[index]",
    "index = (x.argmax(0), y.argmax(0))\nreturn x[index]",
    # what goes to where another value is most likely is there already
    "return self.embed(x).out.to(x.device)",
    "features = unknown.features\nreturn features.to(x.device)",
    "return self.layers[0](x).to(self.device)",
    # options are no values
    "if self.config.aux_loss:\n    return x\nreturn y",
    # lists are added to lists, and names are looked up in dicts
    'return [n for n in ("a", "b") if n not in unknown + ["c"]]',
    'table = {"a": x, "b": y}\nfor loss in unknown:\n    x = table[loss]\nreturn x',
    'return "a" in self.collect(x)',
    # a buffer and a parameter move with their model
    'self.register_buffer("scale", torch.ones(3))\nreturn x * self.scale.to(x)',
    "self.bias = nn.Parameter(torch.zeros(3))\nreturn self.bias.type_as(x)",
    "self.bias = nn.Buffer(torch.zeros(3))\nreturn self.bias.type_as(x)",
    # a dict is asked by key, and gives its keys
    "kept = {k: x for k in unknown}\nreturn [kept[x]]",
    'kept = {"a": x}\nfor key in kept:\n    print(key)',
    # what is kept for later is made once
    "if self.table is None:\n    self.table = torch.ones(3).to(x)\nreturn self.table",
    "if len(state) == 0:\n    self.mean = torch.zeros(3).to(x)",
    # indices are none, whatever they are called
    "self.size = torch.arange(3, device=x.device)\nmask = x.argsort()\nreturn x[mask]",
    "mask_idx = x.sum(0)\nreturn x[mask_idx]",
    "if x.shape != y.wanted_shape or x.dtype != y.sum():\n    return x\nreturn y",
    # parameters have names, which are no tensors
    'for n, p in self.named_parameters():\n    print(f"{n} {p.requires_grad}")',
    # what a program keeps in an attribute of its own is no part of a tensor
    "n = float(unknown.n)\nif x._is_ready:\n    return x\nreturn y",
    'n = float(unknown.n)\nif getattr(x, "_is_ready", False):\n    return x\nreturn y',
    # a model's output may hold anything: a part of it is no more known than all
    "n = float(unknown.n)\nout = self.net(x)\nif out[1]:\n    return x\nreturn y",
    # a test of the type of an argument, and of a number then
    "import numbers\nn = float(unknown.n)\ndef scale(s):\n"
    "    if isinstance(s, numbers.Number) and s == 1:\n        return x\n    return x * s\n"
    "return scale(x.sum())",
    # whether a dict holds anything is known without what it holds
    'def log(logs):\n    return logs if logs else {}\nreturn log({"loss": x.sum()})',
    # a name alone: whether there is such a thing
    "n = float(unknown.n)\nif self.unknown.aux_loss:\n    return x\nreturn y",
    "if self.unknown.build_model(3) > 3:\n    return x\nreturn y",
    "if x.q_scale() > 0.1:\n    return x\nreturn y",
    # a type's name, and the type of a number under any name
    "n = float(unknown.n)\nif x.type() != y.type():\n    return x\nreturn y",
    "n = float(unknown.n)\ndef scale(s):\n"
    "    if isinstance(s, unknown.SCALAR_TYPES) and s == 1:\n        return x\n    return x * s\n"
    "return scale(x.sum())",
    # a tuple is as many indices
    "return x[(slice(None),) * k + (0,)]",
    # keys of an argument are words, whatever the dict holds
    'def name(d):\n    return [f"{k}_loss" for k, v in d.items()]\nreturn name({"a": x.sum()})',
    "return list(filter(lambda p: p.grad is not None, self.parameters()))",
    # a writer's `log`, not that of Python's logging
    'logger.log("loss", x.sum(), k)',
    # optimizers keep their counters on the host
    "def advance(state_steps: list[torch.Tensor]):\n    return [s.item() for s in state_steps]",
]


@pytest.mark.parametrize("body", NO_WAITS)
def test_what_only_looks_like_a_wait_is_none(body: str) -> None:
    assert codes(body) == set()


UPLOADS = [
    "return torch.ones(3).to(x)",
    "return torch.arange(3).type_as(x)",
    "return torch.ones(3).to(x.device)",
    "return x[[0, 2]]",
    "ids = torch.randint(9, (3,))\nreturn x[torch.fmod(ids, unknown), torch.div(ids, unknown)]",
]


@pytest.mark.parametrize("body", UPLOADS)
def test_what_is_made_on_the_host_is_uploaded(body: str) -> None:
    assert codes(body) == {"ASG106"}


READS = {
    "what a function of the framework works on is a tensor": (
        "counts = torch.bincount(unknown)",
        "ASG105",
    ),
    "what only tensors are asked, in a step": ("self.count = unknown.sum().item()", "ASG102"),
    "a condition on a switch is no exceptional one": (
        "if self.skip_nonfinite_grads:\n    self.bad = x.isfinite().all().item()",
        "ASG102",
    ),
    "a string is no counter": (
        'for key in unknown:\n    if key == "logits":\n        self.kept = x.cpu()',
        "ASG103",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_of_what_must_be_a_tensor_is_found(name: str) -> None:
    body, code = READS[name]
    assert codes(body) == {code}


def test_what_an_attribute_holds_comes_from_no_argument_of_another_method() -> None:
    assert not found("""
        import torch
        class Patches(torch.nn.Module):
            def __init__(self, config):
                super().__init__()
                self.size = (config.size, config.size)
            def pad(self, x, width):
                if width % self.size[1] != 0:
                    x = x[:, :1]
                return x
            def forward(self, x: torch.Tensor):
                return self.pad(x, x.shape[1])
        """)


def test_a_declared_result_is_believed() -> None:
    source = """
        import torch
        class Cache:
            def length(self) -> {result}:
                return self.lengths.clamp(0)
        class Net(torch.nn.Module):
            def __init__(self):
                self.cache = Cache()
            def forward(self, x: torch.Tensor):
                if self.cache.length() > 0:
                    return x
        """
    assert not found(source.format(result="int"))
    assert found(source.format(result="torch.Tensor")) == [(9, "ASG104")]


def test_either_of_two_functions_may_be_called() -> None:
    assert found("""
        import torch
        class Agent:
            def __init__(self, prioritized):
                self.objective = self.plain if prioritized else self.weighted
            def plain(self, loss):
                return loss.item()
            def weighted(self, loss):
                return loss.cpu()
            def update(self, model, loader, optimizer):
                for batch in loader:
                    loss = model(batch)
                    loss.backward()
                    self.objective(loss)
        """) == [(6, "ASG102"), (8, "ASG103"), (13, "ASG102"), (13, "ASG103")]


def test_collectives_of_an_accelerator_give_back_tensors() -> None:
    assert found("""
        import torch
        class Trainer:
            def training_step(self, inputs):
                loss = self.loss(inputs)
                self.seen += self.accelerator.gather_for_metrics(loss).mean().item()
                self.accelerator.backward(loss)
        """) == [(5, "ASG102")]


def test_a_method_left_to_subclasses_is_hot_where_its_class_is_called_in_a_step(
    tmp_path: Path,
) -> None:
    base = """
        class Solver:
            def tell(self, scores):
                raise NotImplementedError
        """
    solver = """
        import numpy as np
        import jax.numpy as jnp
        from base import Solver
        class Wrapper{i}(Solver):
            def tell(self, scores: jnp.ndarray):
                self.solver.take(-np.array(scores))
        """
    loop = """
        import jax
        from base import Solver
        def run(solver: Solver, evaluate, iterations):
            for i in range(iterations):
                solver.tell(evaluate())
                if i % 10 == 0:
                    print(i)
        """
    (tmp_path / "base.py").write_text(dedent(base))
    (tmp_path / "loop.py").write_text(dedent(loop))
    for i in range(3):
        (tmp_path / f"solver{i}.py").write_text(dedent(solver.replace("{i}", str(i))))
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.code) for f in findings] == [
        (f"solver{i}.py", "ASG103") for i in range(3)
    ]


def test_a_tree_map_calls_its_function_with_each_leaf() -> None:
    assert found("""
        import jax
        import numpy as np
        import jax.numpy as jnp
        def fit(step, params, opt_state, keys):
            for key in keys:
                params, opt_state, loss = step(params, opt_state, key)
                metrics = {"loss": jnp.mean(loss)}
                host = jax.tree.map(lambda x: np.asarray(x), metrics)
                print(host)
        """) == [(8, "ASG103")]


def test_a_function_that_is_handed_over_is_called() -> None:
    assert found("""
        import torch
        def read(loss: torch.Tensor):
            return loss.item()
        def train(model, loader, run):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                run(read, loss)
        """) == [(3, "ASG102")]


def test_a_method_that_does_nothing_is_left_to_subclasses() -> None:
    assert found("""
        import torch
        class Trainer:
            def loss(self, batch):
                '''Give the loss.'''
                raise NotImplementedError
            def training_step(self, batch):
                loss = self.loss(batch)
                loss.backward()
                self.seen = loss.detach().cpu()
        """) == [(9, "ASG103")]


def test_what_is_on_the_device_is_not_uploaded() -> None:
    assert codes("return torch.as_tensor(x > 0, device=x.device)") == set()
    assert codes("return torch.as_tensor([1, 2], device=x.device)") == {"ASG106"}


def test_the_sizes_of_a_packed_sequence_are_on_the_host() -> None:
    body = "def size(batch_sizes: torch.Tensor):\n    return int(batch_sizes[0])\nreturn size({})"
    assert codes(body.format("y")) == set()
    assert codes("return int(x.batch_sizes[0])") == set()
    assert codes("return int(x.sizes[0])") == {"ASG102"}


DOCUMENTED = {
    "NumPy": "rows : list\n    Which.\nx : torch.Tensor, optional\n    What.",
    "Google": "rows (list): Which.\nx (`torch.Tensor` of shape `(n)`): What.",
    "Sphinx": ":type rows: list\n:type x: Tensor\n:param x: What.",
}


@pytest.mark.parametrize("style", DOCUMENTED)
def test_a_docstring_says_what_parameters_are(style: str) -> None:
    source = """
import torch
def choose(rows, x):
    '''Choose.

{doc}
    '''
    return x[rows]
def train(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose(rows, model.kept)
"""
    source = source.format(doc=indent(DOCUMENTED[style], "    "))
    assert [code for _, code in found(source)] == ["ASG106"]
    assert not found(source.replace("torch.Tensor", "int").replace("Tensor", "int"))


def test_what_is_moved_was_on_the_host_whatever_its_docstring_says() -> None:
    assert found("""
        import torch
        class Trainer:
            def training_step(self, batch):
                '''Train.

                batch : torch.Tensor
                '''
                batch = batch.to(self.device)
                self.net(batch).sum().backward()
        """) == [(8, "ASG106")]


def test_an_attribute_that_grows_by_numbers_is_a_number() -> None:
    text = """
        import torch
        class Finder:
            def __init__(self):
                self.avg_loss = 0.0
            def on_train_batch_end(self, trainer):
                current = trainer.running.detach().item()
                self.avg_loss = 0.9 * self.avg_loss + 0.1 * current
                if self.avg_loss > 4:
                    return -1
        """
    assert [code for _, code in found(text)] == ["ASG102"]


def test_a_key_is_what_is_compared() -> None:
    body = "best = {}(unknown, key=lambda row: {})\nreturn best"
    for function in ("max", "min", "sorted"):
        assert codes(body.format(function, "x[row].sum()")) == {"ASG104"}
        assert codes(body.format(function, "len(x[row])")) == set()


def test_a_host_tensor_indexes_nothing_but_tensors() -> None:
    assert codes("rows = torch.arange(3)\nreturn unknown[rows, 0]") == {"ASG106"}
    assert codes("rows = list(range(3))\nreturn unknown[rows]") == set()


def test_what_a_model_is_given_in_a_list_is_there() -> None:
    assert not found("""
        import torch
        class Net(torch.nn.Module):
            def forward(self, inputs: list):
                return inputs[0].to(self.device)
        """)


def test_a_long_expression_is_quoted_with_its_end() -> None:
    text = STEP.format(
        body=" " * 8 + "return (x.reshape(-1, 3) * y.reshape(-1, 3)).sum(dim=1).mean(dim=0).item()"
    )
    (finding,) = check_source(text, "a.py", SETTINGS)
    assert ".mean(dim=0).item()` reads" in finding.message


UPLOADED_INDICES = [
    "return x[range(3), y.long()]",
    "for ids in torch.utils.data.BatchSampler(range(9), 3, True):\n    x[ids]",
]


@pytest.mark.parametrize("body", UPLOADED_INDICES)
def test_what_counts_on_the_host_is_uploaded_as_an_index(body: str) -> None:
    assert codes(body) == {"ASG106"}


def test_a_product_of_masks_is_a_mask() -> None:
    assert codes("x[(x > 0) * (y > 0)] -= 1") == {"ASG105"}


def test_what_a_mask_chose_from_is_an_array() -> None:
    source = """
        import torch
        def non_max_suppression(prediction, limit):
            kept = prediction[prediction[:, 4] > limit]
            return (kept[:, 5:] > limit).nonzero()
        """
    assert found(source) == [(3, "ASG105"), (4, "ASG105")]


def test_a_number_out_of_a_permutation_is_no_index_tensor() -> None:
    assert codes("order = torch.randperm(9)\nreturn x[:, order[k + 1]]") == set()


def test_a_type_that_is_on_the_device_where_there_is_one() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
        def evaluate(model, dataset):
            for x in DataLoader(dataset):
                model(x.type(Tensor))
        """
    assert found(source) == [(6, "ASG106")]


def test_a_dtype_beside_a_device_moves_all_the_same() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        def evaluate(model, dataset, device):
            for x in DataLoader(dataset):
                model(x.to(device=device, dtype=torch.float32))
                model(x.to(device, torch.float32))
                model(x.to(dtype=torch.float32))
        """
    assert found(source) == [(5, "ASG106"), (6, "ASG106")]


def test_a_buffer_that_a_method_moves_is_moved() -> None:
    source = """
        import torch
        class Rollouts:
            def __init__(self, n):
                self.rewards = torch.zeros(n)
                self.masks = torch.ones(n)
            def to(self, device):
                self.rewards = self.rewards.to(device)
                self.masks = self.masks.to(device)
            def batches(self, sampler):
                for indices in torch.utils.data.BatchSampler(sampler, 8, True):
                    yield self.rewards[indices], self.masks[indices]
        """
    assert found(source) == [(11, "ASG106"), (11, "ASG106")]


def test_the_answer_of_a_whole_step_is_a_number_whatever_its_name() -> None:
    source = """
        import torch
        from agents import Agent
        from torch.utils.tensorboard import SummaryWriter
        env = make()
        agent = Agent()
        writer = SummaryWriter()
        while True:
            env.step(agent.act())
            critic_loss, policy_loss = agent.update(32)
            writer.add_scalar("loss", critic_loss)
            print(policy_loss)
        """
    assert found(source) == []


def test_a_setting_named_like_a_loss_is_tested_freely() -> None:
    assert codes("if self.net.aux_loss:\n    x = x + 1\nreturn x") == set()


def test_what_a_history_holds_is_not_told_by_its_name() -> None:
    source = """
        import torch
        class Finder:
            def run(self, loader, best):
                for x in loader:
                    self.step(x).backward()
                    self.optimizer.step()
                    if best > self.{owner}["loss"][-1]:
                        break
        """
    assert found(source.format(owner="history")) == []
    assert found(source.format(owner="outputs")) == [(7, "ASG104")]


def test_the_keys_of_a_parameter_are_on_the_host() -> None:
    source = """
        import torch
        def reduce_dict(values):
            return torch.stack([values[k] for k in sorted(values.keys())])
        def train(model, loader, criterion):
            for x in loader:
                losses = criterion(model(x))
                losses.backward()
                reduce_dict(losses)
        """
    assert found(source) == []


def test_an_optimizer_by_the_module_of_its_base() -> None:
    source = """
        import torch
        from torch.optim.optimizer import Optimizer
        class Grad(Optimizer):
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        size = p.grad.norm().item()
        """
    assert found(source) == [(7, "ASG102")]


def test_the_names_of_parameters_are_words() -> None:
    assert codes("for name, p in self.named_parameters():\n    print(name)") == set()


def test_the_type_of_a_tensor_is_a_word() -> None:
    assert codes("if x.type() != y.type():\n    x = x + y\nreturn x") == set()


def test_an_attribute_that_is_computed_is_compared() -> None:
    source = """
        import torch
        class Watch(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                self.norm = x.norm()
            def training_step(self, batch):
                if self.norm > 3:
                    return None
        """
    assert found(source) == [(6, "ASG104")]


def test_what_only_its_type_tells_may_be_in_host_memory() -> None:
    source = """
        import numpy as np
        import torch
        def to_tensor(x):
            if isinstance(x, torch.Tensor):
                return x
            return torch.from_numpy(x)
        def train(model, loader, device):
            for x, y, z in loader:
                x = to_tensor(x).float().to(device)
                y = y if isinstance(y, torch.Tensor) else torch.tensor(y)
                loss = (model(x) - y.to(device)).sum()
                loss.backward()
                if not isinstance(z, torch.Tensor):
                    z = torch.tensor(z)
                z = z.to(device)
                model.seen = to_tensor(loss).to(device)
        """
    assert found(source) == [(9, "ASG106"), (11, "ASG106"), (15, "ASG106")]


def test_a_helper_of_another_file_may_give_what_is_in_host_memory(tmp_path: Path) -> None:
    helper = """\
import torch
def to_tensor(x):
    if isinstance(x, torch.Tensor):
        return x
    return torch.from_numpy(x)
"""
    train = """\
import helper
def train(model, loader, device):
    for x in loader:
        x = helper.to_tensor(x).to(device)
        model(x).sum().backward()
"""
    (tmp_path / "helper.py").write_text(helper, encoding="utf-8")
    (tmp_path / "train.py").write_text("import torch\n" + train, encoding="utf-8")
    assert [(f.line, f.code) for f in check_paths([tmp_path], SETTINGS).findings] == [(5, "ASG106")]


def test_the_keys_of_what_a_step_gives_are_words() -> None:
    source = """
        import jax
        def fit(step, params, opt_state, batches, kept: dict[str, list]):
            kept = {"loss": []}
            for batch in batches:
                params, opt_state, logs = step(params, opt_state, batch)
                for key in logs:
                    kept[key].append(logs[key])
        """
    assert found(source) == []


def test_what_methods_write_into_a_dict_of_their_object_is_read_by_others() -> None:
    source = """
        import tensorflow as tf
        class Agent:
            def __init__(self):
                self.logs = {}
            def learn(self, model, x, variables, optimizer):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x))
                optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
                self.logs["loss"] = loss
                self.logs["size"] = len(x)
            def train(self, model, dataset, variables, optimizer):
                for step, x in enumerate(dataset):
                    self.learn(model, x, variables, optimizer)
                    tf.summary.scalar("loss", self.logs["loss"], step=step)
                    tf.summary.scalar("size", self.logs["size"], step=step)
        """
    assert found(source) == [(14, "ASG107")]


def test_what_a_function_of_the_device_makes_of_a_copy_is_on_the_device() -> None:
    source = """
        import numpy as np
        import tensorflow as tf
        class Agent:
            def act(self, state):
                model = tf.keras.Sequential()
                action = model.predict(state)
                return np.argmax(tf.clip_by_value(action, -1, 1))
        """
    assert found(source) == [(6, "ASG103"), (7, "ASG103")]


def test_a_compiled_function_of_another_file_gives_device_values(tmp_path: Path) -> None:
    nets = """\
import jax
@jax.jit
def sample_actions(net, x):
    return net(x).sample()
"""
    agent = """\
import jax
import numpy as np
import nets
class Agent:
    def act(self, x):
        return np.asarray(nets.sample_actions(self.net, x))
"""
    (tmp_path / "nets.py").write_text(nets, encoding="utf-8")
    (tmp_path / "agent.py").write_text(agent, encoding="utf-8")
    assert [(f.line, f.code) for f in check_paths([tmp_path], SETTINGS).findings] == [(6, "ASG103")]


def test_what_is_computed_with_a_parameter_is_where_that_is() -> None:
    source = """
        import numpy as np
        import tensorflow as tf
        def scaled(x):
            return x / np.ones(3)
        def evaluate(model, dataset):
            held = np.zeros(10)
            for i, x in enumerate(dataset):
                held[i] = scaled(model(x))
        """
    assert found(source) == [(8, "ASG103")]


def test_a_text_that_is_formatted_reads_by_itself() -> None:
    source = """
        import tensorflow as tf
        def evaluate(model, dataset, lines):
            for x in dataset:
                lines.append("{:.3f}".format(tf.reduce_sum(model(x))))
        """
    assert found(source) == [(4, "ASG101")]


ALONE = """
    import torch
    {other}
    class Learner:
        def train(self, batch, {more}):
            mask = batch["filled"][:, :-1]
            for t in range(mask.size(1)):
                if {test}:
                    continue
                self.optimizer.zero_grad()
                self.critic(batch, t).sum().backward()
                self.optimizer.step()
    """


@pytest.mark.parametrize("test", ["weights[:, t].sum() == 0", "weights.mean() > 1"])
def test_an_array_method_tells_where_the_file_has_no_other_arrays(test: str) -> None:
    alone = ALONE.format(other="", more="weights", test=test)
    assert found(alone) == [(7, "ASG104")]
    both = ALONE.format(other="import numpy as np", more="weights", test=test)
    assert found(both) == []


def test_a_method_tells_nothing_of_an_attribute() -> None:
    source = """
        import torch
        class Agent:
            def __init__(self, args):
                self.args = args
            def learn(self, batch):
                x = torch.tensor(batch)
                if self.args.cuda:
                    x = x.cuda()
                self.net(x).sum().backward()
                self.optimizer.step()
        """
    assert found(source) == [(8, "ASG106")]


def test_what_is_copied_is_no_tensor() -> None:
    source = """
        import numpy as np
        import torch
        class Agent:
            def choose_action(self, obs, last):
                inputs = obs.copy()
                inputs = np.hstack((inputs, last))
                inputs = torch.tensor(inputs)
                inputs = inputs.cuda()
                return self.net(inputs)
        """
    assert found(source) == [(8, "ASG106")]


def test_what_is_expanded_as_a_device_value_stays_on_the_host() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                alpha = torch.rand(3, 1)
                return x * alpha.expand_as(x).to(x.device)
        """
    assert found(source) == [(5, "ASG106")]


def test_what_an_unknown_call_gives_is_read_where_that_is_hot() -> None:
    source = """
        import torch
        def line_search(f, x):
            return f(x).item()
        def train(loader, model, optimizer, f):
            for x in loader:
                model(x).sum().backward()
                optimizer.step()
                line_search(f, x)
        """
    assert found(source) == [(3, "ASG102")]


def test_what_only_its_use_tells_may_be_in_host_memory() -> None:
    source = """
        import numpy as np
        import torch
        class Trainer:
            def train_step(self):
                s, parts = self.buffer.get(3)
                s = s.cuda()
                a = self.queue.next().unsqueeze(0).to(self.device)
                b = torch.cat(parts).to(self.device)
                c = torch.tanh(self.queue.next()).to(self.device)
                self.model(s, a, b, c).backward()
                self.optimizer.step()
        """
    assert found(source) == [(6, "ASG106"), (7, "ASG106"), (8, "ASG106")]


def test_a_lambda_runs_in_the_loops_around_its_call() -> None:
    source = """
        import numpy as np
        import torch
        def train(model, batches, device):
            for batch in batches:
                x, y = map(lambda part: part.to(device), (batch.x, batch.y))
                (model(x) - y).backward()
        """
    assert found(source) == [(5, "ASG106")]


def test_what_one_return_says_of_the_parts_of_a_result_holds() -> None:
    source = """
        import torch
        def nms(boxes, scores):
            keep = scores.new(3).zero_().long()
            if boxes.numel() == 0:
                return keep
            count = 0
            while boxes.numel() > 0:
                count += 1
            return keep, count
        class Detect(torch.nn.Module):
            def forward(self, boxes, scores):
                chosen = scores.gt(3)
                scores = scores[chosen]
                ids, count = nms(boxes, scores)
                return scores[ids[:count]]
        """
    assert found(source) == [(13, "ASG105")]


def test_numpy_as_a_method_is_no_other_library() -> None:
    source = """
        import torch
        class Decoder(torch.nn.Module):
            def forward(self, padded):
                rows = [y[y != 3] for y in self.rows]
                return rows[0].cpu().numpy()
        """
    assert (4, "ASG105") in found(source)


def test_a_comprehension_over_a_progress_bar_goes_over_batches() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        def rollout(net, dataset):
            def evaluate(batch):
                return net(batch).data.cpu()
            return torch.cat([evaluate(b) for b in tqdm(DataLoader(dataset), disable=True)], 0)
        """
    assert found(source) == [(6, "ASG103")]


def test_what_a_function_writes_to_is_not_read() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return torch.arange(x.size(0), out=x.new())
        """
    assert found(source) == []


HOST_OR_NOT = """
    import torch
    class Head(torch.nn.Module):
        def forward(self, boxes, mode: str):
            return self.assign(boxes, (self.net(boxes) > 0).any(0), mode)
        def assign(self, boxes, chosen, mode):
            if mode == "cpu":
                boxes = boxes.cpu()
            {use}
    """


def test_a_mask_on_the_device_chooses_from_what_is_there_too() -> None:
    source = HOST_OR_NOT.format(use="return boxes[self.net(boxes) > 0]")
    assert (8, "ASG105") in found(source)


def test_what_may_be_a_mask_costs_nothing_to_write_a_number_through() -> None:
    source = """
        import torch
        class Loss(torch.nn.Module):
            def ohem_loss(self, conf, pos):
                loss = torch.logsumexp(conf, 1)
                loss[pos] = 0
                loss[pos.unsqueeze(0)] = 0
                return loss
            def forward(self, conf, pos):
                return self.ohem_loss(conf, pos)
        """
    assert found(source) == []


def test_an_index_made_of_a_mask_is_one() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x, pred_mask):
                return self.predict(x, pred_mask)
            def predict(self, x, pred_mask):
                return x[pred_mask.unsqueeze(-1).expand_as(x)]
        """
    assert (6, "ASG105") in found(source)


def test_a_loop_over_a_host_array_gives_numbers() -> None:
    source = """
        import torch
        class Loss(torch.nn.Module):
            def forward(self, x: torch.Tensor, weights: torch.Tensor):
                classes = x.unique().cpu().numpy()
                for label in classes:
                    weights[label] += 1
                for batch in classes:
                    weights[batch] += 1
        """
    assert found(source) == [(4, "ASG103"), (4, "ASG105"), (8, "ASG106")]


def test_a_number_drawn_by_numpy_uploads_nothing() -> None:
    source = """
        import numpy as np
        import torch
        class Net(torch.nn.Module):
            def forward(self, images: torch.Tensor):
                one = images[np.random.choice(3)]
                return one + images[np.random.choice(3, size=2)]
        """
    assert found(source) == [(6, "ASG106")]


@pytest.mark.parametrize(("name", "waits"), [("times", True), ("dtype", False)])
def test_a_tensor_moves_to_where_another_is(name: str, waits: bool) -> None:
    source = f"""
        import torch
        class Sampler:
            def __call__(self, n, {name}):
                return torch.zeros(n).to({name})
        """
    assert bool(found(source)) is waits


def test_sizes_of_an_array_in_host_memory_are_numbers_whatever_else_comes_in_its_place() -> None:
    source = """
        import numpy as np
        import torch
        def size_of(image: np.ndarray):
            return image.shape[-2], image.shape[-1]
        def train(loader, model):
            for image in loader:
                model(image).backward()
                height, width = size_of(image.cuda(non_blocking=True))
                if height > width:
                    continue
        """
    assert found(source) == []


def test_what_numpy_takes_is_in_host_memory_if_its_place_is_in_doubt() -> None:
    source = """
        import numpy as np
        import torch
        class Agent:
            def choose_action(self, state, last):
                rows = np.hstack((state, last))
                state = torch.tensor(rows)
                state = state.cuda()
                return self.net(state)
        """
    assert found(source) == [(7, "ASG106")]


PREPARED = """
    import torch
    def mask_tokens(inputs):
        labels = inputs.clone()
        kept = labels.sum().item()
        if labels.max() > kept:
            labels = labels - 1
        return inputs, labels
    def train(train_loader, model, optimizer, device):
        for batch in train_loader:
            inputs, labels = mask_tokens({given})
            labels = labels.to(device)
            model(inputs, labels).backward()
            optimizer.step()
    """


def test_a_helper_that_is_only_handed_what_is_in_host_memory_waits_for_nothing() -> None:
    assert found(PREPARED.format(given="batch")) == [(11, "ASG106")]
    reads = found(PREPARED.format(given="model.kept"))
    assert {(4, "ASG102"), (5, "ASG104")} <= set(reads)
    placed = PREPARED.replace("optimizer.step()", "self.accelerator.log(1)")
    assert {(4, "ASG102"), (5, "ASG104")} <= set(found(placed.format(given="batch")))


QUIET = {
    "the keys of a dict": """
        for key in unknown_output:
            print(f"{key}: {unknown_output[key].shape}")
        """,
    "a string": """
        print("label: " + unknown_output)
        """,
    "an attribute with a default that is none of a tensor": """
        if getattr(x, "is_ready", True):
            return y
        """,
    "what a method asks whether": """
        if x.has_names():
            return y
        """,
    "whether there is what only its use tells of": """
        if self.normalizer:
            self.normalizer.cuda()
        """,
    "what numbers the parts of a model's output": """
        for layer_idx, part in unknown_output:
            print("loss_{}".format(layer_idx))
        """,
    "a part of what was moved, which may be a model": """
        model = other(k).to(self.device)
        print(model.parts[0].sizes)
        if model.parts[0].sizes:
            return y
        """,
    "a tensor that is not on the device": """
        if not x.is_cuda:
            print(x.sum())
        """,
    "what was read, or came from elsewhere": """
        total = unknown.sum()
        total = total.cpu().numpy().tolist()
        if k:
            total = other(k)
        print(total)
        """,
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_no_device_value_is_not_reported(name: str) -> None:
    body = "unknown_output = self.net(x)\n" + dedent(QUIET[name]).strip()
    assert not codes(body) & {"ASG101", "ASG104"}


def test_the_name_of_a_part_of_an_argument_is_no_device_value() -> None:
    source = """
        import torch
        def describe(task, parts):
            for part in parts:
                print(f"{{task.name}}: {part}")
            {whole}
        def train(model, loader):
            for batch in loader:
                output = model(batch)
                output.backward()
                describe(output.sum(), output)
        """
    assert not found(source.replace("{whole}", "").replace("{{", "{").replace("}}", "}"))
    assert found(source.replace("{whole}", "print(task)").replace("{{", "{").replace("}}", "}"))


def test_what_a_function_declares_to_return_holds_of_the_parts_of_a_tuple() -> None:
    source = """
        from typing import Tuple
        import torch
        class Environment:
            def step(self, action) -> Tuple[torch.Tensor, torch.Tensor]:
                return self.inner.step(action)
        def run(model):
            env = Environment()
            for t in range(100):
                observation, done = env.step(model(t))
                if done:
                    return
        """
    assert found(source) == [(10, "ASG104")]


def test_what_a_step_is_handed_is_uploaded_after_a_conversion_too() -> None:
    source = """
        import torch
        class Trainer:
            def train_step(self, data: torch.Tensor):
                data = data.float().to(self.device)
                self.model(data).sum().backward()
        """
    assert found(source) == [(4, "ASG106")]


@pytest.mark.parametrize(
    "move",
    ["x.to(**self.where)", "tree_map(lambda y: y.to(self.device), x)"],
)
def test_what_is_moved_by_a_dict_or_a_map_of_one_s_own_is_uploaded(move: str) -> None:
    source = f"""
        import torch
        from torch.utils.data import DataLoader
        def tree_map(fn, x):
            return [fn(y) for y in x]
        class Trainer:
            def train(self, data):
                for x in DataLoader(data):
                    self.model({move}).sum().backward()
        """
    assert found(source) == [(8, "ASG106")]


def test_what_is_uploaded_from_stays_where_it_was() -> None:
    source = """
        import torch
        def run(self, batches):
            for batch in batches:
                y = self.model(batch.to(self.device))
                self.keep(batch.cpu(), y.cpu())
                if isinstance(batch, torch.Tensor):
                    batch.tolist()
        """
    assert found(source) == [(4, "ASG106"), (5, "ASG103")]


def test_a_loader_s_tensor_is_in_host_memory_though_isinstance_tells_it() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        def run(model, loader: DataLoader):
            for x, names in loader:
                y = model(x.cuda())
                if isinstance(names, torch.Tensor):
                    names.tolist()
                y.tolist()
        """
    assert found(source) == [(5, "ASG106"), (8, "ASG102")]


OWN = {
    "the size of a part": "assert x.partition_numel() == 3 or y.ds_numel == 2",
    "a label among labels": "assert 'a' + k in x.labels",
    "an attribute that is moved": "self.norm = self.norm.to(k)\nif self.norm:\n    return y",
}


@pytest.mark.parametrize("name", OWN)
def test_what_arrays_of_one_s_own_have_is_no_device_value(name: str) -> None:
    assert "ASG104" not in codes(OWN[name])


CHOICES = {
    'elif mode == "tail":': [],
    "elif other > 2:": [(10, "ASG102")],
    'elif other == "tail":': [(10, "ASG102")],
}


@pytest.mark.parametrize("second", CHOICES)
def test_a_chain_that_asks_for_words_asks_for_all_that_there_are(second: str) -> None:
    source = f"""
        import numpy as np
        import torch
        def run(model, loader, mode, other, counts):
            for batch in loader:
                score = model(batch).sum()
                if mode == "head":
                    score = np.median(counts)
                {second}
                    score = np.mean(counts)
                total = score.item()
        """
    assert found(source) == CHOICES[second]


def test_a_batch_is_on_the_device_once_it_is_moved_without_waiting() -> None:
    source = """
        import torch
        def run(model, loader):
            for image, target in loader:
                output = model(image)
                target = target.cuda(non_blocking=True)
                right = target.cpu()
        """
    assert found(source) == [(6, "ASG103")]


def test_a_list_that_is_extended_by_a_tensor_holds_tensors() -> None:
    source = """
        import torch
        def run(model, loader):
            for batch in loader:
                scores = []
                scores.extend(torch.sigmoid(model(batch)))
                best = max(scores).item()
        """
    assert found(source) == [(6, "ASG102"), (6, "ASG104")]


def test_only_a_device_is_called_by_the_text_that_it_is_made_of() -> None:
    source = """
        import json
        import torch
        with open("words.json") as file:
            words = json.load(file)
        def run(model, loader):
            for batch in loader:
                word = torch.argmax(model(batch))
                if word != words["<end>"]:
                    break
        """
    assert found(source) == [(8, "ASG104")]


def test_what_is_computed_of_host_tensors_stays_there() -> None:
    source = """
        import torch
        def overlap(one, other):
            return torch.max(one, other).prod(1) * one
        class Net(torch.nn.Module):
            def forward(self, boxes):
                if overlap({first}, self.anchors()).sum() == 0:
                    return boxes
        """
    assert {code for _, code in found(source.format(first="boxes.cpu()"))} == {"ASG103"}
    assert {code for _, code in found(source.format(first="boxes.exp()"))} == {"ASG104"}


def test_a_tensor_of_indices_writes_what_is_on_the_device_there() -> None:
    body = "kept = self.find(x)\nkept[{index}, :] = x + 1"
    assert codes(body.format(index="torch.arange(3)")) == {"ASG106"}
    assert codes(body.format(index="k")) == set()


def test_an_index_of_numpy_s_own_making_is_uploaded() -> None:
    assert codes("return x[..., np.r_[0:4, 5:9]]") == set()  # of an unknown `np`
    assert codes("import numpy as np\nreturn x[..., np.r_[0:4, 5:9]]") == {"ASG106"}


@pytest.mark.parametrize(
    "where", ["dict(dtype=torch.float32, device=device)", '{"device": device}']
)
def test_a_dict_of_options_says_where_to(where: str) -> None:
    source = f"""
        import torch
        class Trainer:
            def __init__(self, net, device):
                self.net = net
                self.options = {where}
            def update(self, batch):
                batch = prepared(batch).to(**self.options)
                self.net(batch).sum().backward()
        """
    assert found(source) == [(7, "ASG106")]


def test_what_a_model_is_given_goes_to_where_that_is() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                y = x.reshape(-1, x.shape[-1]).to(next(self.parameters()).device)
                return self.head(y)
        """
    assert found(source) == [(4, "ASG106")]


def test_a_variable_that_joins_a_host_tensor_is_one() -> None:
    source = """
        import torch
        def validate(model, dataset):
            for index in range(len(dataset)):
                image, truth = dataset[index]
                flow = model(image[None].cuda())[0].cpu()
                errors = {errors}
                kept = torch.sum(truth ** 2, dim=0).sqrt()
                print(kept.mean().item())
        """
    host = [(5, "ASG103"), (5, "ASG106")]
    assert found(source.format(errors="(flow - truth).numpy()")) == host
    assert (8, "ASG102") in found(source.format(errors="flow.numpy()"))


def test_a_bound_of_what_may_be_in_host_memory_costs_nothing() -> None:
    source = """
        import torch
        class Packer:
            def repack_words(self, words, lengths):
                longest, _ = lengths.max(0)
                return words.size(0), words[:, 0 : longest[1]].transpose(0, 1).cuda()
        def train(model, loader, packer):
            for words, lengths in loader:
                model(packer.repack_words(words, lengths)).sum().backward()
        """
    assert found(source) == [(5, "ASG106")]


def test_a_library_of_several_frameworks_gives_arrays_of_those_in_use() -> None:
    source = """
        import {framework}
        from einops import rearrange
        def run(model, loader):
            for batch in loader:
                if rearrange(model(batch), "b c -> (b c)").sum() > 0:
                    break
        """
    assert found(source.format(framework="torch")) == [(5, "ASG104")]
    assert found(source.format(framework="jax")) == [(5, "ASG104")]


def test_the_rows_of_a_mask_are_masks() -> None:
    body = "j, k = ((x % 1.0 < 0.5) & (x > 1.0)).T\nreturn y.repeat(2, 1)[torch.stack((j, k))]"
    assert codes(body) == {"ASG105"}


def test_a_bound_that_may_be_none_compares_with_an_array() -> None:
    source = """
        import torch
        atoms = 51
        if USE_MORE:
            atoms = None
        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return x[x < (atoms - 1)]
        """
    assert found(source) == [(7, "ASG105")]


def test_a_tensor_in_host_memory_is_written_into_one_on_the_device() -> None:
    body = "out = self.net(x)\n{written}\nreturn out.sum().item()"
    assert codes(body.format(written="x[2:6] = torch.tensor([1, 2, 3])")) == {"ASG102", "ASG106"}
    assert codes(body.format(written="x[2:6] = 0.5")) == {"ASG102"}
    assert codes(body.format(written='out["targets"] = torch.zeros(3)')) == {"ASG102"}


def test_what_a_model_is_given_a_part_of_is_on_the_device() -> None:
    source = """
        import torch
        def train(model, inputs, optimizer, size):
            order = torch.randperm(size)
            for start in range(0, size, 32):
                loss = model({part}).sum()
                loss.backward()
                optimizer.step()
        """
    assert found(source.format(part="inputs[order[start : start + 32]]")) == [(5, "ASG106")]
    assert found(source.format(part="inputs[start]")) == []


def test_an_unknown_class_that_is_moved_makes_a_model() -> None:
    source = """
        import torch
        from parts import {name}
        def train(loader, every, device):
            model = {name}(3).to(device)
            for batch in loader:
                model(batch).sum().backward()
                step = model.get_step()
                if step % every == 0:
                    break
        """
    assert found(source.format(name="Tacotron")) == []


@pytest.mark.parametrize(
    "backward", ["engine.backward(loss)", "scaler.scale(loss).backward()", "run(loss)"]
)
def test_what_runs_a_backward_pass_is_a_tensor(backward: str) -> None:
    source = f"""
        import torch
        def train(step_fn, loader, engine, optimizer, writer):
            scaler = torch.amp.GradScaler()
            for batch in loader:
                loss, parts = step_fn(engine, batch)
                {backward}
                scaler.step(optimizer)
                print(f"{{loss}}")
        """
    assert found(source) == ([(8, "ASG101")] if "backward" in backward else [])


def test_what_is_stacked_may_be_in_host_memory_still() -> None:
    source = """
        import torch
        def train(model, source, loader):
            for _ in loader:
                _, xs = source.things()
                xs = torch.stack(xs)
                xs = xs.cuda()
                model(xs).backward()
        """
    assert found(source) == [(6, "ASG106")]


def test_what_is_computed_of_a_copy_on_the_host_is_there() -> None:
    source = """
        import torch
        def part_loss(x, target):
            target_cpu = target.to("cpu")
            return x * torch.unique(target_cpu)[0].item()
        """
    assert found(source) == [(3, "ASG103")]


def test_what_is_written_into_a_host_tensor_leaves_it_there() -> None:
    source = """
        import torch
        def train(model, loader):
            for x, y in loader:
                hot = torch.zeros(9, 9).scatter_(1, y.unsqueeze(1), 1)
                model(hot.cuda()).backward()
        """
    assert found(source) == [(5, "ASG106")]


@pytest.mark.parametrize("text", ['"%s %s"', '("%s" + " %s")', '("%s " * 2)'])
def test_writing_into_a_text_reads_what_is_written(text: str) -> None:
    source = f"""
        import torch
        def test(model, loader):
            for i, x in enumerate(loader):
                loss = model(x)
                line = {text} % (i, loss)
        """
    assert found(source) == [(5, "ASG101")]


PURE = """
    import jax
    import numpy as np
    import helpers
    def run(net, params, loader, to_score):
        for x, y in loader:
            preds = net.apply(params, x)
            {statement}
    """


@pytest.mark.parametrize(
    ("statement", "waits"),
    [
        ("float(helpers.divergence(preds, y))", ["ASG102"]),
        ("np.asarray(to_score(preds))", []),
        ("float(to_score(preds))", []),
        ("float(helpers.to_numpy(preds))", ["ASG103"]),
        ("float(helpers.Scorer(preds))", []),
        ("float(helpers.save(preds))", []),
        ("float(helpers.divergence(x, y))", []),
    ],
)
def test_a_pure_function_out_of_sight_makes_device_values_of_such(
    statement: str, waits: list[str]
) -> None:
    assert found(PURE.format(statement=statement)) == [(7, code) for code in waits]


def test_what_is_fetched_from_the_device_was_there() -> None:
    source = """
        import jax
        import agent
        def collect(state, conns, num_steps):
            for _ in range(num_steps + 1):
                logits, values = agent.play(state, [conn.recv() for conn in conns])
                logits, values = jax.device_get((logits, values))
        def gather(rows):
            return jax.device_get(([], ()))
        """
    assert found(source) == [(6, "ASG103")]


def test_a_policy_out_of_sight_acts_on_the_device_if_its_action_is_converted() -> None:
    source = """
        import jax
        import numpy as np
        def evaluate({agent}, env):
            done = False
            while not done:
                action = {call}
                {read}
                x, reward, done, _ = env.step(action)
        """
    acts = {"agent": "agent", "call": "agent.sample_actions(x)"}
    assert found(source.format(**acts, read="action = np.array(action)")) == [(7, "ASG103")]
    assert found(source.format(**acts, read="print(int(action))")) == []
    asked = {"agent": "player", "call": "player.choices(x)"}
    assert found(source.format(**asked, read="action = np.array(action)")) == []


def test_what_a_tree_map_brings_to_the_host_is_there() -> None:
    source = """
        import jax
        import numpy as np
        import tensorflow as tf
        def pad(x, n):
            return np.concatenate([x, np.tile(x[-1], (n, 1))], axis=0)
        def predict(step, params, batches{of}):
            for batch in batches:
                batch = jax.tree_util.tree_map(lambda x: x._numpy(), batch)
                batch = jax.tree_util.tree_map(lambda x: pad(x, 3), batch)
                np.array(step(batch, params))
        """
    assert found(source.format(of="")) == [(10, "ASG103")]
    assert found(source.format(of=": tf.data.Dataset")) == [(10, "ASG103")]


@pytest.mark.parametrize(
    ("statement", "waits"),
    [
        ("float(np.mean(loss))", ["ASG102"]),  # NumPy calls the array's own method
        ("np.mean(loss)", []),
        ("np.mean([loss, loss])", ["ASG103"]),  # a list has none
        ("float(np.mean([loss, loss]))", ["ASG103"]),
        ("np.power(loss, 2)", ["ASG103"]),
        ("float(np.mean(losses))", []),  # which may be numbers
        ("float(jax_utils.unreplicate(loss))", ["ASG102"]),
        ("float(config.score_fn(loss, y))", []),
        ("float(config.distance_fn(loss, y))", ["ASG102"]),
        ("np.asarray(chooser.pick(y, seed=key))", ["ASG103"]),
        ("np.asarray(chooser.pick(y, seed=3))", []),
        ("np.asarray(helpers.eval_step(state, y))", ["ASG103"]),
        ("np.asarray(helpers.describe(state, y))", []),
    ],
)
def test_what_is_computed_of_a_jax_array(statement: str, waits: list[str]) -> None:
    source = f"""
        import jax
        import numpy as np
        from flax import jax_utils
        import helpers
        def train(update, params, opt_state, state, loader, config, chooser):
            for x, y in loader:
                key = jax.random.fold_in(jax.random.PRNGKey(0), 1)
                params, opt_state, loss = update(params, opt_state, x)
                {statement}
        """
    assert found(source) == [(9, code) for code in waits]


def test_beside_a_framework_of_pure_functions_another_reads_the_data() -> None:
    source = """
        import {imported}
        import tensorflow as tf
        from tqdm import tqdm
        def train(update, params, examples):
            for step, batch in enumerate(tqdm(examples)):
                batch = {mapped}(lambda x: x.numpy(), batch)
                params = update(params, batch)
        """
    assert found(source.format(imported="jax", mapped="jax.tree_util.tree_map")) == []
    alone = source.format(imported="math", mapped="tf.nest.map_structure")
    assert found(alone) == [(6, "ASG103")]


def test_each_value_that_a_text_is_written_from_is_read_beside_others_too() -> None:
    source = """
        import torch
        def train(model, loader, optimizer, bar):
            means = torch.zeros(3, device="cuda")
            for i, x in enumerate(loader):
                means = (means * i + model(x).mean()) / (i + 1)
                bar.set_description("%s %s %s %s" % ("now", *means, x.shape[0]))
        """
    assert found(source) == [(6, "ASG101")]


def test_a_mask_chooses_from_an_argument_wherever_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "metrics.py").write_text(
        dedent("""
            import numpy as np
            import torch
            def overlap(output, target):
                output = output.view(-1)
                return torch.histc(output[output == target.view(-1)], bins=9, min=0, max=8)
            """).lstrip()
    )
    (tmp_path / "main.py").write_text(
        dedent("""
            import torch
            from metrics import overlap
            def validate(model, loader):
                for x, y in loader:
                    x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
                    totals.append(overlap(model(x).max(1)[1], y))
            """).lstrip()
    )
    findings = check_paths([tmp_path], SETTINGS).findings
    found = {(Path(f.path).name, f.line, f.code) for f in findings}
    assert found == {("metrics.py", 5, "ASG105"), ("main.py", 6, "ASG105")}


def test_a_model_by_its_name_is_one_under_another_name_too() -> None:
    source = """
        import torch
        class Runner:
            def validate(self, net=None):
                if net is None:
                    net = self.net
                for images, labels in self.loader:
                    output = net(images.to(self.device, non_blocking=True))
                    self.note(output, labels)
            def note(self, output, labels):
                self.total += output.mean().item()
        """
    assert found(source) == [(8, "ASG102"), (10, "ASG102")]


def test_what_is_drawn_from_a_list_is_a_list() -> None:
    source = """
        import random
        import torch
        def train(model, loader):
            for x in loader:
                x = x.cuda(non_blocking=True)
                order = random.sample(range(8), 8)
                model(x[order]).sum().backward()
        """
    assert found(source) == [(7, "ASG106")]


def test_the_parts_of_a_list_are_moved_one_by_one() -> None:
    source = """
        import torch
        def collate(rows, n):
            parts = []
            for i in range(n):
                parts.append(torch.zeros(len(rows), 9))
            for i in range(n):
                parts[i] = parts[i].cuda()
            return parts
        def train(model, loader, optimizer):
            for rows in loader:
                loss = model(collate(rows, 3)).mean()
                loss.backward()
                optimizer.step()
        """
    assert found(source) == [(7, "ASG106")]


def test_the_name_of_what_is_written_may_say_that_it_is_a_word() -> None:
    source = """
        import torch
        def test(model, loader):
            for batch in loader:
                parts = batch.to("cuda", non_blocking=True)
                for i, row in enumerate(model(parts)):
                    basename = parts[i]
                    plot(row, "{}.png".format({what}))
        """
    assert found(source.replace("{what}", "basename")) == []
    assert found(source.replace("{what}", "row.mean()")) == [(7, "ASG101")]


def test_private_functions_say_nothing_of_values() -> None:
    body = "reduction = F._Reduction.get_enum(k)\nif reduction == 0:\n    return x"
    assert codes(body) == set()


def test_a_tensor_in_host_memory_within_an_index_is_uploaded() -> None:
    source = """
        import torch
        def train(model, loader):
            for x in loader:
                x = x.cuda(non_blocking=True)
                first = torch.arange(x.shape[0]), x.argmax(1)
                model(x[first]).sum().backward()
        """
    assert found(source) == [(6, "ASG106")]


def test_one_drawn_with_probabilities_is_a_number() -> None:
    source = """
        import numpy as np
        import torch
        def train(model, loader, p):
            for x in loader:
                x = x.cuda(non_blocking=True)
                model(x[:, np.random.choice(8, p=p)]).sum().backward()
                model(x[:, np.random.choice(8, 3, p=p)]).sum().backward()
        """
    assert found(source) == [(7, "ASG106")]


def test_what_is_done_with_a_value_later_does_not_place_it() -> None:
    source = """
        import torch
        class Agent:
            def act(self, obs):
                obs = torch.as_tensor(obs, device=self.device)
                return self.actor(obs.unsqueeze(0))
            def update(self, x):
                loss = self.actor(x).mean()
                loss.backward()
                self.optimizer.step()
        """
    assert found(source) == [(4, "ASG106")]


@pytest.mark.parametrize(
    ("made", "uploads"),
    [
        ("torch.cuda.FloatTensor(x.size(0))", False),
        ("torch.cuda.ByteTensor(max_size)", False),
        ("torch.cuda.LongTensor(labels)", True),
        ("torch.cuda.FloatTensor([0.1, 0.9])", True),
        ("y.new(*sizes(x))", False),
        ("y.new(*(3, 4) + x.size()[1:])", False),
        ("y.new([0.1, 0.9])", True),
    ],
)
def test_making_a_tensor_of_a_size_uploads_nothing(made: str, uploads: bool) -> None:
    source = f"""
        import torch
        def train(model, loader, labels, max_size):
            for x in loader:
                y = model(x.cuda(non_blocking=True))
                (y * {made}).sum().backward()
        """
    assert found(source) == ([(5, "ASG106")] if uploads else [])


def test_no_numpy_array_is_written_into_a_tensor() -> None:
    source = """
        import numpy as np
        import torch
        def features(model, loader, on_device):
            kept = torch.empty(9, device="cuda") if on_device else np.empty(9)
            for i, x in enumerate(loader):
                y = model(x.cuda(non_blocking=True))
                kept[i] = y.cpu().numpy()
        """
    assert found(source) == [(7, "ASG103")]


def test_what_has_other_attributes_than_arrays_is_a_batch_of_them() -> None:
    source = """
        import torch
        def update(policy, replay, optimizer, device):
            batch = replay.sample(32)
            batch = batch.to(device, non_blocking=True)
            if batch.vectorized:
                batch = batch.flatten()
            loss = policy(batch).mean()
            loss.backward()
            optimizer.step()
            if loss.data:
                return
        """
    assert found(source) == [(10, "ASG104")]


def test_what_a_helper_may_have_moved_is_there() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        def maybe_cuda(what, use_cuda=True):
            if use_cuda and torch.cuda.is_available():
                what = what.cuda()
            return what
        def train(model, dataset, cuda):
            for batch in DataLoader(dataset):
                x, y = batch
                y = maybe_cuda(y, cuda)
                model(x).sum().backward()
                keep(y[0].item())
        """
    assert found(source) == [(5, "ASG106"), (12, "ASG102")]


def test_another_type_leaves_an_array_where_it_was() -> None:
    source = """
        import torch
        def train(model, loader, criterion, device):
            batches = loader.__iter__()
            for step in range(9):
                x, target = batches.next()
                target = target.long().to(device)
                criterion(model(x), target.long()).backward()
        """
    assert found(source) == [(6, "ASG106")]


def test_the_flags_of_a_jax_state_are_on_the_device() -> None:
    source = """
        import jax
        def rollout(env, policy, key):
            @jax.jit
            def advance(state, key):
                new, _ = jax.random.split(key)
                return env.step(state, policy(state.obs, key)), new
            state = env.reset(key)
            while not state.done:
                state, key = advance(state, key)
        """
    assert found(source) == [(8, "ASG104")]


def test_a_host_array_copies_an_index_that_is_on_the_device() -> None:
    source = """
        import jax
        import numpy as np
        def train(update, params, opt_state, keys):
            data = np.zeros((10, 3))
            for key in keys:
                chosen = jax.random.randint(key, (4,), 0, 10)
                params, opt_state, loss = update(params, opt_state, data[{index}])
        """
    assert found(source.format(index="chosen")) == [(7, "ASG103")]
    assert found(source.format(index="0")) == []


def test_what_an_optimizer_keeps_is_on_the_device_wherever_it_is_kept() -> None:
    source = """
        import jax
        from lib import make
        def train(config, loader):
            network = make(config)
            for batch in loader:
                loss = network.train(batch)
                log(network.{where}.item())
        """
    assert found(source.format(where='state["opt_state"][-1].count[0]')) == [(7, "ASG102")]
    assert found(source.format(where="state.opt_state.hyperparams")) == [(7, "ASG102")]
    assert found(source.format(where='config["version"][0]')) == []


def test_a_function_out_of_sight_that_is_named_so_makes_a_host_array() -> None:
    source = """
        import jax
        from acme.jax import utils
        class Actor:
            def select_action(self, observation):
                action, self.state = self.policy(self.params, observation, self.state)
                return utils.{name}(action)
        """
    assert found(source.format(name="to_numpy")) == [(6, "ASG103")]
    assert found(source.format(name="add_batch_dim")) == []


def test_tensorflow_feeds_a_framework_of_pure_functions() -> None:
    source = """
        import {framework}
        import tensorflow as tf
        def batches(files, steps):
            for step, x in enumerate(tf.data.TFRecordDataset(files).batch(8)):
                yield tf.cast(x, tf.float32).numpy()
        """
    assert found(source.format(framework="jax")) == []
    assert found(source.format(framework="numpy")) == [(5, "ASG103")]


def test_a_read_in_a_lambda_is_reported_where_that_is_called(tmp_path: Path) -> None:
    (tmp_path / "trees.py").write_text(
        "import jax\nimport numpy as np\ndef to_numpy(tree):\n"
        "    return jax.tree.map(lambda x: np.asarray(x), tree)\n"
    )
    (tmp_path / "train.py").write_text(
        "import jax\nimport trees\ndef train(update, params, opt_state, loader):\n"
        "    for batch in loader:\n"
        "        params, opt_state, loss = update(params, opt_state, batch)\n"
        "        print(trees.to_numpy(loss))\n"
    )
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("train.py", 6), ("trees.py", 4)]


def test_the_step_of_a_state_is_on_the_device_where_that_is_handed_on() -> None:
    source = """
        import {framework}
        def main(trainer, loader):
            for batch in loader:
                trainer.train_step(batch)
                keep(int(trainer.state.step))
        """
    assert found(source.format(framework="jax")) == [(5, "ASG102")]
    assert found(source.format(framework="torch")) == []


def test_a_schedule_of_learning_rates_computes_them() -> None:
    assert found("""
        import jax
        def main(update, params, opt_state, loader, lr_schedule):
            for step, batch in enumerate(loader):
                params, opt_state, loss = update(params, opt_state, batch)
                keep(float(lr_schedule(step)))
        """) == [(5, "ASG102")]


@pytest.mark.parametrize("plain", ["float", "(int, float)", "numbers.Number"])
def test_a_number_by_its_type_is_none_of_the_caller(plain: str) -> None:
    assert (
        found(f"""
        import math, numbers
        import torch
        def is_infinite(x):
            if isinstance(x, {plain}):
                return x == math.inf or x == -math.inf
            return False
        def train(model, loader, optimizer):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                if is_infinite(loss):
                    break
        """)
        == []
    )


@pytest.mark.parametrize(
    ("test", "waits"),
    [
        ("seen != head", False),  # objects
        ("seen != Head", False),  # classes
        ("seen == torch.distributed.GroupMember.WORLD", False),
        ("all(part.dim < 0 for part in limit)", False),  # a method, of what is no array
        ("torch.distributions.biject_to(value).event_dim == limit", False),
        ("seen == limit", True),
    ],
)
def test_what_is_no_array_compares_without_waiting(test: str, waits: bool) -> None:
    source = """
        import torch
        class Head:
            pass
        head = Head()
        def check(value, limit):
            seen = value.mean()
            assert TEST
        def train(model, loader, optimizer, limit):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                check(loss, [loss])
        """
    assert bool(found(source.replace("TEST", test))) is waits


@pytest.mark.parametrize(
    ("test", "waits"),
    [
        ("x.is_cuda", False),
        ('x.device != "cpu"', False),
        ('x.device.type == "cuda"', False),
        ('x.device.type == "cpu"', True),
        ("x.device != self.where", True),
    ],
)
def test_what_is_moved_if_it_is_on_the_device_is_in_host_memory(test: str, waits: bool) -> None:
    source = """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                if TEST:
                    x = x.cpu()
                return x.tolist()
        """
    assert ("ASG102" in [code for _, code in found(source.replace("TEST", test))]) is waits


def test_what_shows_values_behind_it_is_a_progress_bar() -> None:
    source = """
        import jax
        def train(state, batches, bars):
            with bars(batches) as bar:
                for batch in bar:
                    loss = jax.jit(state.apply)(state.params, batch)
                    bar.set_postfix({"loss": loss})
        """
    assert found(source) == [(6, "ASG107")]
