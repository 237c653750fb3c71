"""What is a step, and what a name, a method or a caller tells of a value nobody declared."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from asyncguard.lint import knowledge
from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.modules.project import Project, index
from asyncguard.lint.program import network
from asyncguard.lint.run import worker
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Device, Loop

SETTINGS = Settings(cache=False)


def found(source: str, settings: Settings = SETTINGS) -> list[tuple[int, str]]:
    """The lines and codes of the findings in a source."""
    return [(f.line, f.code) for f in check_source(dedent(source).lstrip(), "a.py", settings)]


HOT = {
    "a loop over batches by its variable's name": """
        import torch
        def evaluate(loss_fn, model, data):
            for batch in data:
                total = loss_fn(model, batch).item()
        """,
    "a loop whose variable counts iterations, with device work in it": """
        import torch
        def run(x: torch.Tensor, iterations):
            for step in range(iterations):
                x = x.cos() + 1
                print(x)
        """,
    "a loop within a loop over samples": """
        import torch
        def run(samples, score):
            for sample in samples:
                for part in score(sample):
                    value = part["score"].unsqueeze(0) * 2
                    print(value)
        """,
    "a loop that steps an environment": """
        import torch
        def explore(env, policy, x):
            for t in range(100):
                action = torch.tanh(x.cuda())
                env.step(action.cpu().numpy())
        """,
    "gradients of the parameters, by their names, within a step": """
        import torch
        def train(model, rows):
            for row in rows:
                loss = model(row).sum()
                for name, parameter in model.named_parameters():
                    grad = torch.autograd.grad(loss, parameter)
                print(loss)
        """,
    "a helper that takes numbers as well": """
        import numbers, torch
        def is_nan(x):
            if isinstance(x, numbers.Number):
                return x != x
            return torch.isnan(x).any()
        def train(model, loader):
            for batch in loader:
                loss = model(batch).sum()
                loss.backward()
                if is_nan(loss):
                    continue
        """,
    "a functional training step": """
        import jax
        def fit(step, params, opt_state, keys):
            for key in keys:
                params, opt_state, loss = step(params, opt_state, key)
                print(loss)
        """,
    "a method that trains its state": """
        import jax
        import numpy as np
        class Network:
            def train(self, sample):
                loss, self.state = self.train_fn(self.state, sample)
                return np.array(loss).mean()
        """,
    "a policy's own call is made for each observation": """
        import jax
        import jax.numpy as jnp
        class SamplerPolicy:
            def __call__(self, observations):
                actions = jnp.tanh(observations)
                return jax.device_get(actions)
        """,
    "an interval that is compared with a number is an option, not a period": """
        import tensorflow as tf
        def train(model, dataset, loss_of, step, log_freq):
            for x in dataset:
                loss = loss_of(model(x))
                step.assign_add(1)
                if log_freq > 0 and tf.equal(tf.math.mod(step, log_freq), 0):
                    continue
        """,
    "a loop that steps an environment of gym": """
        import gym
        import jax.numpy as jnp
        import numpy as np
        def record(q_fn, params):
            env = gym.wrappers.RecordVideo(gym.make("CartPole-v1"), "videos")
            x, _ = env.reset()
            while env.recording:
                action = jnp.argmax(q_fn(params, x), axis=-1)
                x, reward, done, _ = env.step(np.asarray(action))
        """,
    "a function that steps an environment, and merely once": """
        import jax.numpy as jnp
        import numpy as np
        def advance(env, logits):
            return env.step(np.asarray(jnp.argmax(logits)))
        """,
    "an agent samples in every step": """
        import jax
        import numpy as np
        class SACAgent:
            def sample(self, observations):
                return np.asarray(jax.nn.tanh(observations))
        """,
    "a writer by its methods": """
        import torch
        def train(model, loader, board):
            for step, batch in enumerate(loader):
                loss = model(batch).sum()
                loss.backward()
                board.add_scalar("loss", loss, step)
        """,
    "gradient accumulation is no guard: it ends in one optimizer step": """
        import torch
        def train(model, loader, opt, accumulation_steps):
            for i, batch in enumerate(loader):
                loss = model(batch)
                loss.backward()
                if (i + 1) % accumulation_steps == 0:
                    opt.step()
                    print(loss)
        """,
    "a loop that accumulates gradients is part of a step": """
        import jax
        def train(loss_fn, params, opt, loader, accum):
            for i in range(1000):
                for _ in range(accum):
                    loss, grads = jax.value_and_grad(loss_fn)(params, next(loader))
                print(loss)
        """,
    "a loop that steps an environment, and trains in loops of its own": """
        import tensorflow as tf
        def explore(env, model, optimizer, gradients, state):
            done = False
            while not done:
                probs = model.predict(state)
                state, done = env.step(probs)
                for each in gradients:
                    optimizer.apply_gradients(each)
        """,
    "an agent learns in every step": """
        import tensorflow as tf
        class DQNAgent:
            def learn(self):
                self.model = tf.keras.Sequential()
                target = self.model.predict(self.states)
        """,
    "each iteration comes round at a period of one": """
        import tensorflow as tf
        def evaluate(model, dataset):
            for i, x in enumerate(dataset):
                if i % 1 == 0:
                    print(model(x).numpy())
        """,
    "a device value that is written into what NumPy holds": """
        import tensorflow as tf
        def learn(model, first, dataset):
            target = model(first).numpy()
            for x in dataset:
                target[0] = model(x)
        """,
    "a subclass of Keras' model, by its other name": """
        from tensorflow.keras import models
        class Net(models.Model):
            pass
        def evaluate(dataset):
            net = Net()
            for x in dataset:
                net.predict(x)
        """,
    "a library on top of JAX": """
        import flax.linen as nn
        import numpy as np
        def evaluate(net: nn.Module, env, x):
            for step in range(100):
                x = env.step(np.asarray(net.apply(x)))
        """,
    "a function compiled by pjit": """
        import jax
        from jax.experimental.pjit import pjit
        def train(step, state, batches):
            run = pjit(step)
            for batch in batches:
                out = run(batch)
                print(out)
        """,
    "what is there is worked on, and nothing begins anew": """
        import torch
        class Net(torch.nn.Module):
            def forward(self, boxes: torch.Tensor):
                if len(boxes) > 0:
                    boxes = boxes.clone()
                    print(boxes)
        """,
    "a function out of sight that is handed a model's parameters": """
        import jax
        import numpy as np
        import policy
        class Learner:
            def sample_actions(self, observations):
                rng, actions = policy.sample(self.rng, self.actor.params, observations)
                return np.asarray(actions)
        """,
    "an unknown value whose item is taken in a training step": """
        import torch
        from elsewhere import score
        def train(model, loader):
            for batch in loader:
                model(batch).backward()
                best = score(batch).item()
        """,
    "a name is believed in a function that a training step calls": """
        import torch
        def compute(loss_function, out):
            loss = loss_function(out)
            return loss.item()
        def train(model, loader):
            for batch in loader:
                model(batch).backward()
                compute(print, 1)
        """,
    "map reads what the function that it is given reads": """
        import torch
        def train(model, loader):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                a, b = map(lambda t: t.item(), (loss, loss))
        """,
    "a list writes into a device value by being copied there": """
        import torch
        def train(model, loader):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                rows = [1, 2]
                loss[rows] = 0
        """,
    "what a compiled function returns keeps its shape": """
        import jax
        @jax.jit
        def all_done(mask):
            return mask.sum() == 0
        def run(env, mask):
            for step in range(100):
                env.step(mask)
                if all_done(mask):
                    break
        """,
    "isinstance confirms what is doubtful": """
        import torch
        def train(model, loader, flag):
            for batch in loader:
                losses = model(batch)
                sum(losses.values()).backward()
                losses["time"] = 0.5
                print({k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in losses.items()})
        """,
}


@pytest.mark.parametrize("name", HOT)
def test_a_hot_read_is_found(name: str) -> None:
    assert found(HOT[name])


COLD = {
    "a remainder that a function gives is a period as well": """
        import numpy as np
        import tensorflow as tf
        def train(model, dataset, count, n):
            for x in dataset:
                y = model(x)
                if np.mod(count(), n) == 0:
                    print(y)
        """,
    "what an environment does between episodes": """
        import jax.numpy as jnp
        import numpy as np
        def reset(env, logits):
            return env.step(np.asarray(jnp.argmax(logits)))
        """,
    "a name, where the only caller passes what it has read": """
        import torch
        class Trainer:
            def train(self, model, loader):
                for batch in loader:
                    loss = model(batch).sum()
                    loss.backward()
                    number = loss.item()  # asyncguard: ignore
                    self.tell_about(number)
            def tell_about(self, loss):
                print(loss)
        """,
    "epochs that a framework's own range counts": """
        import tensorflow as tf
        def fit(model, loss, dataset, epochs):
            for _ in tf.range(0, epochs):
                run(model, dataset)
                print(tf.reduce_sum(model(loss)))
        """,
    "an action of a policy, which is for an environment": """
        import numpy as np
        import tensorflow as tf
        def evaluate(policy, env, count):
            x = env.reset()
            for _ in range(count):
                tf.summary.scalar("x", 0.0, step=0)
                action = policy.get_action(np.asarray(x))
                x, reward, done, _ = env.step(np.clip(action, -1, 1))
        """,
    "what sets a model's weights runs it not": """
        import tensorflow as tf
        def fuse(layers):
            for layer in layers:
                layer = tf.keras.layers.Dense(1)
                weights = layer.get_weights()[0]
                layer.set_weights([tf.transpose(weights)])
        """,
    "the samples of a batch are no steps": """
        import torch
        def targets(boxes: torch.Tensor, batch_size):
            for i in range(batch_size):
                boxes = boxes + 1
                print(boxes)
        """,
    "a loop whose calls are epochs": """
        import jax
        def fit(run_epoch, train_state, evaluations):
            for it in range(evaluations):
                train_state, loss = run_epoch(train_state)
                print(loss)
        """,
    "rounds of training, whatever they go over": """
        import torch
        from torch.utils.data import DataLoader
        def fit(model, splits, optimizer):
            for split in DataLoader(splits):
                for batch in DataLoader(split):
                    optimizer.zero_grad()
                    loss = model(batch)
                    loss.backward()
                    optimizer.step()
                print(loss)
        """,
    "every n-th time, or always if that is asked for": """
        import torch
        def train(model, loader, settings):
            for step, batch in enumerate(loader):
                loss = model(batch).sum()
                loss.backward()
                if step % 50 == 0 or (is_chief and settings.careful):
                    print(loss)
                if settings.log_at(step):
                    print(loss)
        """,
    "samples that are drawn for someone to look at": """
        import torch
        def plot_samples(model, rows):
            for row in rows:
                print(model(row).mean())
        """,
    "a method that is not called reads nothing": """
        import torch
        def train(model, loader, images):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                if loss.size != images[0].size:
                    continue
        """,
    "a program's `main` runs once, whatever it does": """
        import jax
        def main(loss_fn, state, batch):
            loss, grads = jax.value_and_grad(loss_fn)(state.params, batch)
            state = state.apply_gradients(grads=grads)
            print(loss)
        """,
    "a switch is no value": """
        import jax
        def run(self, keys, state):
            for key in keys:
                state = state.apply_gradients(grads=key)
                if self.enable_loss:
                    pass
        """,
    "what a tree holds are no lists": """
        import jax
        def run(step, params, opt_state, index):
            for i in range(100):
                params, opt_state = step(params, opt_state)
                index = jax.numpy.argmax(index)
                params = jax.tree.map(lambda p: p[index], params)
        """,
    "an episode is over, or an epoch": """
        import torch
        def train(model, loader, train_iter, done):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                if done:
                    print(loss)
                if train_iter.is_new_epoch:
                    print(loss)
        """,
    "enough was kept to begin anew": """
        import torch
        def train(model, loader):
            kept = []
            for batch in loader:
                loss = model(batch)
                loss.backward()
                kept.append(loss.detach())
                if len(kept) >= 100 or len(kept) == 7:
                    print(torch.stack(kept).mean())
                    kept = []
        """,
    "a loop that ends in its first round": """
        import tensorflow as tf
        def show(model, dataset):
            for x in dataset:
                print(model(x).numpy())
                break
            for x in dataset.take(1):
                print(model(x).numpy())
        """,
    "a loop that waits for someone to type": """
        import torch
        def demo(model):
            while True:
                step = input("?")
                print(model(step).item())
        """,
    "what keeps a state is no training step": """
        import jax
        def export(count: jax.Array, train_state, partition):
            train_state = shard(train_state, partition)
            train_state = pure(train_state)
            print(count)
        """,
    "a tokenizer is no model": """
        import numpy as np
        import torch
        from transformers import AutoTokenizer
        def encode(texts):
            tokenizer = AutoTokenizer.from_pretrained("x")
            for step, text in enumerate(texts):
                ids = np.concatenate([tokenizer(text), tokenizer(text)])
        """,
    "a loop over the batches of each data set": """
        import jax
        def evaluate(net, sets, make):
            net = jax.jit(net)
            for data in sets:
                losses = []
                batches = [make(data), make(data)]
                for batch in batches:
                    losses.append(net(batch))
                print(jax.numpy.stack(losses).mean())
        """,
    "a gradient's function is made once, and called in each step": """
        import jax
        import jax.numpy as jnp
        def fit(loss_fn, state, batches, count: jax.Array):
            step = jax.value_and_grad(loss_fn)
            if count > 3:
                count = count - 1
            for batch in batches:
                loss, grads = step(state, batch)
                state = state.apply_gradients(grads=grads)
        """,
    "what kind of values an array holds is known at once": """
        import jax.numpy as jnp
        def fit(state, batches):
            for batch in batches:
                state = state.apply_gradients(grads=jnp.sqrt(batch))
                if jnp.iscomplexobj(batch):
                    pass
        """,
}


@pytest.mark.parametrize("name", COLD)
def test_a_cold_read_is_not(name: str) -> None:
    assert not found(COLD[name])


HELPER = """\
import torch
def detect(x: torch.Tensor):
    return x.cpu().numpy()
"""
CALLER = """\
import torch
from {module} import detect
class Net(torch.nn.Module):
    def forward(self, x):
        return self.find(x)
    def find(self, x):
        return detect(x)
"""


@pytest.mark.parametrize(
    ("files", "module"),
    [
        ({"pkg/__init__.py", "pkg/net.py", "pkg/parts/ops.py"}, ".parts.ops"),
        ({"experiments/net.py", "experiments/ops.py"}, "ops"),
        ({"experiments/net.py", "common/ops.py"}, "common.ops"),
    ],
    ids=["a folder without __init__ in a package", "beside a script", "from the folder checked"],
)
def test_calls_are_followed_from_hooks_into_other_files(
    files: set[str], module: str, tmp_path: Path
) -> None:
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = {"net.py": CALLER.format(module=module), "ops.py": HELPER}.get(path.name, "")
        path.write_text(text, encoding="utf-8")
    findings = check_paths([tmp_path], SETTINGS).findings
    assert any(f.code == "ASG103" for f in findings)


def test_what_a_script_imports_whole_is_the_file_beside_it(tmp_path: Path) -> None:
    read = """
        def accuracy(output, label):
            return (output.argmax(axis=1) == label).mean().asscalar()
        """
    script = """
        import utils
        from mxnet import autograd
        def train(net, batches, trainer):
            for data, label in batches:
                with autograd.record():
                    output = net(data)
                output.backward()
                trainer.step(2)
                utils.accuracy(output, label)
        """
    for name, text in {"a/utils.py": read, "a/run.py": script, "b/other.py": read}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("from mxnet import nd" + dedent(text), encoding="utf-8")
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [
        ("run.py", 10),
        ("utils.py", 3),
    ]


EVALUATOR = """\
import torch
class Evaluator:
    def process_scores(self, scores: torch.Tensor):
        self.kept = scores.cpu()
"""
EVALUATION = """\
import torch
def evaluate(model, loader, evaluator):
    for batch in loader:
        evaluator.process_scores(model(batch))
"""


def calling_by_name(folder: Path, evaluation: str, evaluators: int = 1) -> list[tuple[str, str]]:
    (folder / "evaluation.py").write_text(evaluation, encoding="utf-8")
    for number in range(evaluators):
        (folder / f"evaluator{number}.py").write_text(EVALUATOR, encoding="utf-8")
    settings = Settings(cache_dir=folder / "cache", root=folder)
    first, again = (check_paths([folder], settings).findings for _ in range(2))
    assert first == again  # the second time from the cache
    return [(Path(f.path).name, f.code) for f in first]


def test_a_method_called_by_name_in_a_step_elsewhere_is_hot(tmp_path: Path) -> None:
    assert calling_by_name(tmp_path, EVALUATION) == [("evaluator0.py", "ASG103")]


def test_of_several_hooks_of_one_name_each_may_call_it(tmp_path: Path) -> None:
    calls = "self.evaluator.process_scores(x)"
    bodies = {"First": calls, "Second": "return self.layer(x)", "Third": "return x"}
    modules = "".join(
        f"class {name}(torch.nn.Module):\n    def forward(self, x):\n        {body}\n"
        for name, body in bodies.items()
    )
    wanted = [("evaluator0.py", "ASG103")]
    assert calling_by_name(tmp_path, f"import torch\n{modules}") == wanted


def test_a_method_called_by_name_once_is_not(tmp_path: Path) -> None:
    once = EVALUATION.replace("for batch in loader:", "if model(batch := loader[0]) is not None:")
    assert calling_by_name(tmp_path, once) == []


def test_a_name_that_many_things_have_says_nothing(tmp_path: Path) -> None:
    assert calling_by_name(tmp_path, EVALUATION, evaluators=13) == []


SCRIPT = """\
import tensorflow as tf
class Model(tf.keras.Model):
    def action_value(self, observation):
        return self.predict(observation)
def try_it(env):
    return Model().action_value(env.reset())
class Agent:
    def train(self, env):
        while True:
            state, reward, done, info = env.step(self.model.action_value(state))
"""


def test_in_one_of_many_scripts_that_are_alike_a_name_means_its_own(tmp_path: Path) -> None:
    for number in range(14):
        (tmp_path / f"script{number}.py").write_text(SCRIPT, encoding="utf-8")
    findings = check_paths([tmp_path], Settings(cache=False)).findings
    assert [(f.line, f.code) for f in findings] == [(4, "ASG103")] * 14


def test_an_arrays_method_says_nothing_of_a_method_that_is_called_like_it(tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text(EVALUATOR.replace("process_scores", "squeeze"))
    (tmp_path / "run.py").write_text(EVALUATION.replace("process_scores", "squeeze"))
    assert check_paths([tmp_path], SETTINGS).findings == ()


def test_a_loop_of_a_test_is_none_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "scores.py").write_text(
        "import torch\ndef score(x: torch.Tensor):\n    return x.sum().item()\n"
    )
    loop = "import torch\nfrom scores import score\ndef {}(model, loader):\n"
    loop += "    for x in loader:\n        model(x).backward()\n        score(model.weights)\n"
    (tmp_path / "tests" / "test_scores.py").write_text(loop.format("test_score"))
    assert [f.line for f in check_paths([tmp_path], SETTINGS).findings] == []
    (tmp_path / "run.py").write_text(loop.format("run"))
    assert [f.line for f in check_paths([tmp_path], SETTINGS).findings] == [3]


def test_a_round_of_training_is_no_step(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        dedent("""
            import torch
            class Agent:
                def learn_from_rollout(self, batches):
                    for batch in batches:
                        self.optimizer.zero_grad()
                        loss = self.model(batch).sum()
                        loss.backward()
                        self.optimizer.step()
                    self.log.append(loss.item())
        """)
    )
    (tmp_path / "run.py").write_text(
        dedent("""
            import torch
            def run(env, agent, x: torch.Tensor):
                for step in range(1000):
                    x = torch.tanh(x)
                    env.step(x)
                    agent.learn_from_rollout(env.batches)
        """)
    )
    audit = check_paths([tmp_path], Settings(select=("ALL",), cache=False)).findings
    assert [f.loop for f in audit if f.code == "ASG102"] == [Loop.EPOCH]


def test_what_a_function_elsewhere_returns_decides_what_waits(tmp_path: Path) -> None:
    sampling = "import jax.numpy as jnp\ndef sample(x):\n    return jnp.tanh(x)\n"
    agent = """\
import jax
import numpy as np
import sampling
class Agent:
    def behave_well(self, observation):
        actions = sampling.sample(observation)
        return np.asarray(actions)
"""
    run = """\
import jax
def run(agent, env, observation):
    for step in range(100):
        observation = env.step(agent.behave_well(observation))
"""
    for name, text in (("sampling", sampling), ("agent", agent), ("run", run)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.code) for f in findings] == [("agent.py", "ASG103")]


def test_what_a_function_that_compares_says_of_a_period_guards() -> None:
    assert found("""
        import tensorflow as tf
        def train(model, dataset, optimizer):
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = model(x)
                optimizer.apply_gradients(tape.gradient(loss, model.weights))
                if tf.equal(optimizer.iterations % 100, 0):
                    print(float(loss))
        """) == [(7, "ASG104")]


def test_a_checkpoint_is_no_device_value() -> None:
    assert not found("""
        import torch
        def train(model, loader, path):
            start = torch.load(path, map_location="cuda")["step"]
            for batch in loader:
                model(batch).backward()
                if start > 5:
                    start += 1
        """)


def test_a_time_that_is_over_comes_seldom() -> None:
    assert not found("""
        import time
        import torch
        def train(model, loader, interval):
            last = time.time()
            for batch in loader:
                loss = model(batch)
                loss.backward()
                if time.time() - last > interval:
                    print(loss)
        """)


def test_an_instance_of_a_class_of_its_own_is_no_device_value() -> None:
    assert not found("""
        import torch
        from torch.nn.utils.rnn import PackedSequence
        class Net(torch.nn.Module):
            def forward(self, x):
                original = x
                if isinstance(original, PackedSequence):
                    x, batch_sizes, first, second = x
                    size = int(batch_sizes[0])
                else:
                    x = x.unsqueeze(0)
                return x
        """)


MADE_WITHOUT_A_DEVICE = """
    import torch
    def train(model, loader):
        for batch in loader:
            loss = model(batch)
            loss.backward()
            weight = torch.ones(3).sum().item()
            print(loss)
    """


@pytest.mark.parametrize(
    ("device", "lines"),
    [(Device.WRITTEN, [7]), (Device.ACCELERATOR, [6, 7]), (Device.CPU, [])],
)
def test_an_option_says_where_values_are(device: Device, lines: list[int]) -> None:
    settings = Settings(cache=False, assume_device=device)
    assert [line for line, _ in found(MADE_WITHOUT_A_DEVICE, settings)] == lines


def test_on_the_cpu_too_what_computes_asynchronously_waits() -> None:
    source = MADE_WITHOUT_A_DEVICE.replace("torch", "mxnet").replace("mxnet.ones", "mxnet.nd.ones")
    source = source.replace(".item()", ".asscalar()")
    assert found(source, Settings(cache=False, assume_device=Device.CPU))


@pytest.mark.parametrize("module", ["cupy", "chainer"])
def test_the_module_named_xp_is_that_of_the_device(module: str) -> None:
    source = f"""
        import {module}
        def train(loader, xp):
            for batch in loader:
                print(xp.sqrt(batch[0]))
        """
    assert [code for _, code in found(source)] == ["ASG101"]


def test_get_array_module_gives_the_module_of_the_device() -> None:
    assert found("""
        import cupy
        def train(x):
            module = cupy.get_array_module(x)
            for step in range(100):
                x = module.sqrt(x)
                print(float(x))
        """)


def test_parameters_of_an_outer_function_are_not_those_of_an_inner_one() -> None:
    assert not found("""
        import torch
        def run_between(start, end, functions):
            def run(x):
                for i in range(start, end):
                    x = functions[i](x)
                return x
            return run
        def train(model, loader):
            run = run_between(0, 3, model.blocks)
            for batch in loader:
                loss = model(batch)
                loss.backward()
                run(loss)
        """)


def test_what_a_step_saves_or_plots_it_does_seldom() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def training_step(self, batch):
                self.{name}()
            def {name}(self):
                return self.weight.mean().cpu()
        """
    assert found(source.format(name="record"))
    for name in ("save_image", "plot", "_save_checkpoint", "load_state_dict"):
        assert not found(source.format(name=name))


ROLES = {
    "a replay memory": """
        import torch
        class Memory:
            def push(self, state):
                self.states.append(state.to("cpu"))
            def sample(self, n):
                return self._batch(n)
            def _batch(self, n):
                return torch.tensor(self.states[:n], device=self.device)
        """,
    "an environment": """
        import torch
        class Env:
            def reset(self):
                return torch.tensor(self.state, device=self.device)
            def step(self, action):
                self.state = self.simulator.move(action.cpu())
                return torch.tensor(self.state, device=self.device)
        """,
}
HEATED = {"a replay memory": [4, 8], "an environment": [6, 7]}


@pytest.mark.parametrize("role", ROLES)
def test_what_a_class_is_by_its_methods_tells_which_run_in_every_step(role: str) -> None:
    assert [line for line, _ in found(ROLES[role])] == HEATED[role]


def test_a_class_of_half_a_role_has_none() -> None:
    source = """
        import torch
        class Prior:
            def sample(self, n):
                return torch.tensor(self.states[:n], device=self.device)
        """
    assert found(source) == []


def test_a_loop_over_what_goes_over_a_loader_is_one_over_batches() -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        class Latents:
            def __init__(self, data):
                self.loader = DataLoader(data)
            def __iter__(self):
                return map(self.upload, iter(self.loader))
            def upload(self, tensors):
                return [tensor.cuda() for tensor in tensors]
            def of(self, model):
                found = []
                for x, y in self:
                    found.append(model.encode_it(x).cpu())
                return found
        """
    assert found(source) == [(9, "ASG106"), (13, "ASG103")]


def test_a_loop_over_what_yields_batches_on_the_device() -> None:
    source = """
        import torch
        class Prefetcher:
            def __init__(self, loader, device):
                self.loader, self.device = loader, device
            def __iter__(self):
                for batch in self.loader:
                    yield batch.to(self.device)
        def evaluate(loader):
            for i, batch in enumerate(Prefetcher(loader, "cuda")):
                print(batch)
        """
    assert found(source) == [(7, "ASG106"), (10, "ASG101")]


LOSSES = {
    "def wing_loss(pred, label):": True,
    "def hingeloss(pred, label):": True,
    "def plot_loss(pred, label):": False,
    "def evaluate_loss(pred, label):": False,
}


@pytest.mark.parametrize("head", LOSSES)
def test_a_function_named_after_a_loss_computes_it_in_every_step(head: str) -> None:
    source = f"""
        import torch
        {head}
            difference = (pred - label).abs()
            return difference[torch.relu(difference) < 3].sum()
        """
    assert found(source) == ([(4, "ASG105")] if LOSSES[head] else [])


def test_the_loss_of_many_steps_is_none_of_one() -> None:
    source = """
        import torch
        def data_loss(model, rows):
            total = torch.zeros((), device="cuda")
            for row in rows:
                total += row.weight
            return total.item()
        """
    assert found(source) == []


CALLED = {
    "class WordAgent": ["def __call__(self, state):", "return self.net(state).cpu()"],
    "class BoxMatcher": ["def match(self, boxes):", "return torch.relu(boxes).cpu()"],
    "class PlateauScheduler": ["def step(self, x):", "return torch.relu(x).cpu()"],
    "class BeamDecoder": ["def decode(self, probs):", "return probs.cpu()"],
}


@pytest.mark.parametrize("head", CALLED)
def test_the_last_word_of_a_class_tells_what_of_it_runs_in_every_step(head: str) -> None:
    method, line = CALLED[head]
    text = f"import torch\n{head}:\n    {method}\n        {line}\n"
    assert found(text) == [(4, "ASG103")]
    assert found(text.replace(head, "class Thing").replace("def match", "def look")) == []


def test_a_loop_over_named_parameters_is_part_of_one_step() -> None:
    source = """
        import torch
        class Agent:
            def train(self):
                for data in self.buffer.get():
                    value = self.policy(data)
                    for name, parameter in self.policy.named_parameters():
                        torch.autograd.grad(value, parameter)
                    print(value.item())
        """
    assert found(source) == [(8, "ASG102")]


HANDED_ON = {
    "in a dict, to be chosen from": """
        import torch
        class Criterion(torch.nn.Module):
            def masks(self, out, idx):
                return out[out > 0].sum()
            def pick(self, name, out, idx):
                known = {"masks": self.masks}
                return known[name](out, idx)
            def forward(self, out, idx):
                return sum(self.pick(name, out, idx) for name in self.names)
        """,
    "as an argument": """
        import torch
        from apply import for_each
        class Head(torch.nn.Module):
            def masks(self, out):
                return out[out > 0].sum()
            def forward(self, outs):
                return for_each(self.masks, outs)
        """,
}


@pytest.mark.parametrize("source", HANDED_ON.values(), ids=HANDED_ON)
def test_a_method_that_a_step_hands_on_is_called_in_it(source: str) -> None:
    assert [code for _, code in found(source)] == ["ASG105"]


LOSS_METHODS = {
    "loss_by_feat": True,
    "_loss_single": True,
    "loss_name_of": False,
    "plot_loss": False,
}


@pytest.mark.parametrize("name", LOSS_METHODS)
def test_a_module_s_losses_belong_to_a_step(name: str) -> None:
    source = f"""
        import torch
        class Head(torch.nn.Module):
            def forward(self, x):
                return self.layer(x)
            def {name}(self, scores: torch.Tensor, labels: torch.Tensor):
                total = 0
                for level in range(3):
                    total = total + scores[level][labels >= 0].sum()
                return total
        """
    assert bool(found(source)) == LOSS_METHODS[name]


COMPARED = """
{imports}
class Labeler:
    def pick(self, given, kinds):
        keep = kinds != -100
        return given[keep & (kinds > 0)]
class Bench(torch.nn.Module):
    def forward(self, x):
        return self.labeler.pick(x.a, x.b)
"""


def test_what_a_comparison_chooses_from_is_an_array_of_the_only_framework() -> None:
    assert found(COMPARED.format(imports="import torch")) == [(5, "ASG105")]
    assert found(COMPARED.format(imports="import numpy as np\nimport torch")) == []


def test_a_read_in_another_file_is_reported_there_and_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "nms.py").write_text(
        "import torch\ndef keep_best(scores: torch.Tensor):\n    return scores[scores > 0.5]\n"
    )
    (tmp_path / "head.py").write_text(
        "import torch\nfrom nms import keep_best\nclass Head(torch.nn.Module):\n"
        "    def forward(self, scores: torch.Tensor):\n        return keep_best(scores)\n"
    )
    findings = check_paths([tmp_path], Settings(cache=False, jobs=1, root=tmp_path)).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("head.py", 5), ("nms.py", 3)]
    assert "keep_best reads it at" in findings[0].message


def test_a_function_that_loops_over_steps_is_none_for_what_it_calls_after_them() -> None:
    source = """
        import torch
        def update(model, optimizer, batch):
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
            return loss
        def run(model, optimizer, loader):
            for batch in loader:
                update(model, optimizer, batch)
            last = update(model, optimizer, next(iter(loader)))
            print(last.item())
        """
    assert found(source) == []


def test_a_method_that_only_subclasses_have_is_called_of_these(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "import torch\nclass Trainer:\n    def run(self, loader):\n        for batch in loader:\n"
        "            loss = self.compute(batch)\n            loss.backward()\n"
        "            self.optimizer.step()\n"
    )
    (tmp_path / "own.py").write_text(
        "import torch\nfrom base import Trainer\nclass Own(Trainer):\n"
        "    def compute(self, batch):\n        loss = torch.nn.functional.mse_loss(*batch)\n"
        "        print(loss.item())\n        return loss\n"
    )
    (tmp_path / "other.py").write_text(
        "import torch\nclass Other:\n    def compute(self, batch):\n"
        "        print(torch.nn.functional.mse_loss(*batch).item())\n"
    )
    findings = check_paths([tmp_path], Settings(cache=False, jobs=1, root=tmp_path)).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("own.py", 6)]


def test_instances_that_are_made_before_the_loop_are_known_in_it(tmp_path: Path) -> None:
    (tmp_path / "meters.py").write_text(
        "import torch\nclass Top:\n    def add(self, logits, target):\n"
        "        self.right += (logits.argmax(1) == target).sum().item()\n"
    )
    (tmp_path / "runner.py").write_text(
        "import torch\nfrom meters import Top\nclass Runner:\n    def __init__(self, model):\n"
        "        self.model, self.meters = model, {'top': Top()}\n"
        "    def evaluate(self, loader):\n        with torch.no_grad():\n"
        "            for x, y in loader:\n                out = self.model(x.cuda())\n"
        "                for meter in self.meters.values():\n"
        "                    meter.add(out, y)\n"
    )
    findings = check_paths([tmp_path], Settings(cache=False, jobs=1, root=tmp_path)).findings
    assert ("meters.py", 4, "ASG102") in [(Path(f.path).name, f.line, f.code) for f in findings]


@pytest.mark.parametrize(
    ("made_of", "waits"), [("self.net(x)", True), ("self.net(x).cpu()", False)]
)
def test_what_a_distribution_is_made_of_says_where_it_samples(made_of: str, waits: bool) -> None:
    source = f"""
        import torch
        class Policy(torch.nn.Module):
            def __init__(self):
                self.net = torch.nn.Linear(4, 2)
            def act(self, x):
                chances = torch.distributions.Categorical(logits={made_of})
                return chances.sample().item()
        """
    assert ("ASG102" in {code for _, code in found(source)}) == waits


@pytest.mark.parametrize("name", ["build_targets", "assign_targets", "batched_nms", "describe"])
def test_what_prepares_targets_or_suppresses_boxes_belongs_to_a_step(name: str) -> None:
    source = f"""
        import torch
        def {name}(boxes: torch.Tensor, scores: torch.Tensor):
            return boxes[scores > 0.5]
        """
    assert bool(found(source)) == (name != "describe")


CONDITIONS = {
    "due = self.logging and (step % 10 == 0 or step == self.last)": True,
    "due = not step % 10": True,
    "due: bool = step % 10 == 0": True,
    "due = step % accumulation == 0": False,
    "due = self.mode == 'train'": False,
    "due = step % 10 == 0\n                due = self.always": False,
}


@pytest.mark.parametrize("line", CONDITIONS)
def test_a_condition_that_a_variable_holds_guards(line: str) -> None:
    source = f"""
        import torch
        def train(self, loader, accumulation):
            for step, batch in enumerate(loader):
                loss = self.model(batch).sum()
                loss.backward()
                {line}
                if due:
                    print(loss)
        """
    assert bool(found(source)) is not CONDITIONS[line]


def test_what_makes_its_own_optimizer_is_no_step() -> None:
    source = """
        import torch
        def calibrate(self, logits):
            logits = torch.tensor([logits], device=self.device)
            {maker}
            def closure():
                loss = self.criterion(logits)
                loss.backward()
                return loss
            loss = self.criterion(logits)
            loss.backward()
            self.optimizer.step(closure)
        """
    assert found(source.format(maker="optimizer = torch.optim.LBFGS([self.t])")) == []
    assert found(source.format(maker="pass")) == [(3, "ASG106")]


def test_a_script_tries_its_model_once() -> None:
    source = """
        import torch
        from net import Net
        if __name__ == "__main__":
            net = Net()
            out = net(torch.ones(3, device="cuda"))
            print(out["loss"])
            out["loss"].backward()
        """
    assert found(source) == []


def test_who_merely_asks_for_gradients_runs_no_step() -> None:
    source = """
        import numpy as np
        import tensorflow as tf
        class Saliency:
            def explain(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_max(self.model(x))
                gradients = tape.gradient(loss, self.model.weights)
                {update}
                return np.max(loss)
        """
    update = "self.optimizer.apply_gradients(zip(gradients, self.model.weights))"
    assert found(source.format(update="pass")) == []
    assert found(source.format(update=update)) == [(9, "ASG103")]


RARELY = {
    "a warning": """
        if bad:
            warnings.warn(f"odd: {loss}")
    """,
    "a message of a logger": """
        if bad:
            self.logger.error("odd: %s", loss)
    """,
    "what a device value gives reason to say": """
        if loss > 50:
            print(f"odd: {loss}")
    """,
    "what is told once": """
        if self.wanted and not self.told:
            print(loss)
            self.told = True
    """,
    "what is done the first time": """
        if self.anew:
            print(loss)
            self.anew = False
    """,
    "what is kept for later": """
        if not exists(self.start):
            self.start = loss.item()
    """,
    "a new record": """
        if loss < self.best_loss:
            self.best_loss = loss.item()
    """,
    "what nothing comes after": """
        if self.known:
            pass
        else:
            print(loss.item())
            raise NotImplementedError
    """,
    "what is kept by a key": """
        if self.name not in self.cache:
            self.cache[str(self.name)] = loss.item()
    """,
}


@pytest.mark.parametrize("branch", RARELY.values(), ids=RARELY)
def test_what_a_step_does_once_or_by_exception_is_rare(branch: str) -> None:
    step = """
import torch
class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()
"""
    inside = indent(dedent(branch), " " * 8)
    always = "\n".join(line[4:] for line in inside.splitlines() if not line.endswith(":"))
    assert {code for _, code in found(step + inside)} <= {"ASG104"}
    if "warn" not in branch and "logger" not in branch:
        assert found(step + always)


SET_UP = ["__init__", "load_adapters", "from_pretrained", "pissa_init", "save_all"]


@pytest.mark.parametrize("name", [*SET_UP, "score"])
def test_a_loop_that_sets_up_is_none_over_steps(name: str) -> None:
    source = f"""
        import torch
        def {name}(model, prompts):
            for prompt in prompts:
                scale = model(prompt).norm().item()
        """
    assert bool(found(source)) is (name not in SET_UP)


def test_a_benchmark_is_no_step_though_it_runs_one() -> None:
    source = """
        import torch
        def {name}(model, x):
            loss = model(x).sum()
            loss.backward()
            return loss.item()
        """
    assert found(source.format(name="benchmark_gradients")) == []
    assert found(source.format(name="test_gradients")) == []
    assert found(source.format(name="fit_batch")) == [(5, "ASG102")]


@pytest.mark.parametrize(
    ("path", "name", "reported"),
    [
        ("train.py", "run", True),
        ("train.py", "run_cuda_benchmark", False),
        ("train.py", "measure_latency", False),
        ("train.py", "time_forward", False),
        ("train.py", "timed_forward", True),
        ("pkg/benchmark/base.py", "run", False),
        ("benchmark_train.py", "run", False),
        ("benchmark/pkg/train.py", "run", True),
        ("pkg/workbench.py", "run", True),
    ],
)
def test_a_benchmark_s_barriers_are_what_it_measures(path: str, name: str, reported: bool) -> None:
    source = f"""
        import torch
        def {name}(model, xs):
            for x in xs:
                loss = model(x).sum()
                loss.backward()
                torch.cuda.synchronize()
        """
    assert bool(check_source(dedent(source), path, SETTINGS)) is reported


def test_what_calls_a_round_of_training_is_one_too() -> None:
    source = """
        import torch
        class Trainer:
            def fit(self):
                self.rounds()
                return self.model(self.probe).sum().item()
            def rounds(self):
                for batch in self.loader:
                    loss = self.model(batch).sum()
                    loss.backward()
                    self.optimizer.step()
        def compare(sizes):
            for batch_size in sizes:
                trainer = Trainer()
                trainer.fit()
        """
    assert found(source) == []


def test_an_agent_acts_in_every_step_though_it_trains_now_and_then() -> None:
    source = """
        import chainer
        class Agent:
            def act_and_train(self, obs, reward):
                if len(self.memory) > 100:
                    for batch in self.memory:
                        self.learn_from(batch)
                action, v = self.model(obs)
                return chainer.cuda.to_cpu(action.array)[0]
            def learn_from(self, batch):
                loss = self.model(batch)
                self.model.cleargrads()
                loss.backward()
                self.optimizer.update()
        """
    assert (8, "ASG103") in found(source)


def test_a_trainer_that_runs_the_backward_pass_is_no_array() -> None:
    source = """
        import torch
        class Trainer:
            def fit(self, loader):
                for step, batch in enumerate(loader):
                    loss = self.model(batch).sum()
                    self.strategy.backward(loss, self.model)
                    logs = self.strategy.all_reduce({"loss": loss.item()})
                    self.bar.set_postfix(logs)
                    if step > self.strategy.warmup:
                        self.done = True
        """
    assert found(source) == [(7, "ASG102")]


def test_what_is_called_is_no_array_even_if_it_was_moved() -> None:
    source = """
        import torch
        class Trainer:
            def __init__(self, options):
                self.pixels = build(options).to(self.device)
            def optimize_parameters(self):
                output = self.net(self.x)
                if self.pixels:
                    loss = self.pixels(output)
                loss.backward()
        """
    assert found(source) == []


def test_usage_of_a_module_tells_nothing_of_it() -> None:
    source = """
        from torch import nn
        from .imports import *
        class Masker:
            def before_batch(self):
                mask = torch.tensor([1.0, 2.0], device=self.device)
                self.best = torch.argmax(mask)
        """
    assert found(source) == [(5, "ASG106")]


def test_a_method_that_reads_its_argument_is_given_one() -> None:
    source = """
        import torch
        class Masker:
            def before_batch(self):
                self.hidden = self.rows[0].masked_fill(self.mask, {value})
        """
    assert found(source.format(value="self.fill")) == []
    assert found(source.format(value="torch.max(self.cost.grad)")) == [(4, "ASG102")]


def test_a_part_of_what_a_step_is_handed_is_uploaded_where_it_is_moved() -> None:
    source = """
        import torch
        class Model:
            def feed_data(self, data, batch: torch.Tensor, where: torch.Tensor):
                self.low = data["low"].to(self.device)
                self.first = data[0].clone().float().to(self.device)
                self.mean = data.mean().to(self.device)
                self.batch = batch.to(self.device)
                device = where.device
                self.there = batch.to(device)
        """
    assert found(source) == [(4, "ASG106"), (5, "ASG106"), (7, "ASG106")]


def test_what_a_tokenizer_s_helper_gives_is_uploaded_too() -> None:
    source = """
        import torch
        def pad(tokenizer, texts):
            return tokenizer.pad(texts)
        def encode(model, tokenizer, loader):
            for texts in loader:
                batch = pad(tokenizer, [text for text in texts]).to("cuda")
                out = model(batch)
        """
    assert found(source) == [(6, "ASG106")]


@pytest.mark.parametrize("where", ["cuda", "cuda:1", "mps", "cpu"])
def test_what_is_moved_to_a_named_accelerator_is_uploaded(where: str) -> None:
    source = f"""
        import torch
        def train(model, rows):
            for row in rows:
                batch = tokenize(row).to("{where}")
                model(batch).sum().backward()
        """
    assert found(source) == ([] if where == "cpu" else [(4, "ASG106")])


def test_what_an_unless_or_a_flag_keeps_back_is_rare_in_loops_too() -> None:
    source = """
        import torch
        class Trainer:
            def training_step(self, batch):
                self.report(self.model(batch))
            def report(self, losses):
                if not self.is_logging_step():
                    return
                for trainer in self.trainers:
                    trainer.tell(losses.item())
        """
    assert found(source) == []


def test_a_running_loss_is_a_number_and_a_popped_item_has_a_name() -> None:
    source = """
        import torch
        class Trainer:
            def training_step(self, batch, factor):
                loss = self.model(batch).sum()
                number = float(loss)
                running_loss = factor * self.running + number
                print(f"{running_loss:.2f}")
                self.log_all({"loss": loss})
            def log_all(self, losses):
                while len(losses) > 0:
                    name, loss = losses.popitem()
                    print(f"train/{name}")
        """
    assert found(source) == [(5, "ASG102")]


SPOKEN_OF = [
    "print(loss)",  # known by its name alone
    "print(self.model.to_string(x))",
    "print(text(x))",
]


@pytest.mark.parametrize("line", SPOKEN_OF)
def test_what_is_printed_mostly_is_text_or_a_number(line: str) -> None:
    source = f"""
        import torch
        def text(value):
            if isinstance(value, torch.Tensor):
                return "a tensor"
            return str(value)
        class Trainer:
            def training_step(self, x: torch.Tensor, loss):
                for name, loss in self.parts(x):
                    {line}
        """
    assert found(source) == []


NAMED_CLASSES = {
    ("RPNLossComputation", "__call__"): True,
    ("BalancedSampler", "__call__"): True,
    ("BeamSearchLM", "advance"): True,
    ("DecodeStrategy", "update_finished"): True,
    ("ComputeLossOTA", "__call__"): True,
    ("DepthLoss26", "__call__"): True,
    ("CRFDecode", "decode"): True,
    ("Plan", "advance"): False,
    ("Plan", "__call__"): False,
}


@pytest.mark.parametrize(("name", "method"), NAMED_CLASSES)
def test_what_a_class_is_by_its_name_says_which_methods_steps_call(name: str, method: str) -> None:
    source = f"""
        import torch
        class {name}:
            def {method}(self, scores):
                return torch.nonzero(scores > 0)
        """
    assert bool(found(source)) is NAMED_CLASSES[name, method]


def test_an_environment_of_a_class_at_hand_steps() -> None:
    source = """
        import torch
        class Wrapped:
            def __init__(self, venv):
                self.venv = venv
        def evaluate(policy, device):
            eval_envs = Wrapped(None)
            rewards = []
            while len(rewards) < 10:
                _, reward, done = eval_envs.step(0)
                rewards += [reward]
                masks = torch.tensor([float(d) for d in done], device=device)
        """
    assert found(source) == [(11, "ASG106")]


def test_a_loop_over_parts_of_the_data_goes_over_batches() -> None:
    source = """
        import torch
        def classify(train, test, labels, chunk):
            right = 0
            for start in range(0, labels.shape[0], {size}):
                near = torch.mm(test[start : start + chunk], train).topk(3)[1]
                right += near.eq(labels).sum().item()
            return right
        """
    assert found(source.format(size="chunk")) == [(6, "ASG102")]
    assert found(source.format(size="1")) == []


def test_a_file_that_imports_no_framework_trains_with_what_its_folder_imports(
    tmp_path: Path,
) -> None:
    for name, text in {
        "__init__": "",
        "model": "import torch\nclass Net(torch.nn.Module):\n    pass\n",
        "trainer": (
            "class Trainer:\n"
            "    def process_batch(self, batch):\n"
            "        loss = self.criterion(self.model(batch))\n"
            "        loss.backward()\n"
            "        return loss.item()\n"
        ),
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("trainer.py", 5)]


@pytest.mark.parametrize(("imported", "found"), [("mxnet", ("mxnet",)), ("jax", ())])
def test_a_file_is_of_its_folders_framework_if_it_calls_methods_of_that(
    tmp_path: Path, imported: str, found: tuple[str, ...]
) -> None:
    text = "def to_numpy(array):\n    return array.asnumpy()\n"
    files = {"__init__.py": "", "arrays.py": text, "checks.py": f"import {imported}\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    project = Project(index(str(tmp_path / name) for name in files), knowledge.load())
    assert project.frameworks(str(tmp_path / "arrays.py"), text) == found


def overridden(folder: Path, base: str) -> list[int]:
    """The lines found in one of many classes that define a method that a step calls by name."""
    (folder / "base.py").write_text(
        "import torch\nclass Algorithm:\n    def log_info(self, info): return info.item()\n"
    )
    for number in range(14):
        (folder / f"algorithm{number}.py").write_text(
            "import torch\nfrom base import Algorithm\n"
            f"class Algorithm{number}({base}):\n"
            "    def log_info(self, info):\n"
            "        return info['loss'].item()\n"
        )
    (folder / "run.py").write_text(
        "import torch\ndef run(model, count):\n    for _ in range(count):\n"
        "        info = model.train_on_batch()\n        model.log_info(info)\n"
    )
    findings = check_paths([folder], SETTINGS).findings
    return [f.line for f in findings if f.path.endswith("algorithm1.py")]


def test_a_name_that_one_family_of_classes_has_says_what_is_called(tmp_path: Path) -> None:
    assert overridden(tmp_path, "Algorithm") == [5]


def test_a_name_that_many_families_have_does_not(tmp_path: Path) -> None:
    assert overridden(tmp_path, "object") == []


@pytest.mark.parametrize("step", ["train_step(x)", "eval_on_batch(x)", "select_action(x)"])
def test_a_loop_that_calls_a_step_by_name_goes_over_steps(step: str) -> None:
    source = """
        import torch
        def run(runner, xs, loss: torch.Tensor):
            for x in xs:
                runner.{step}
                print(loss.item())
        """
    assert [line for line, _ in found(source.format(step=step))] == [5]
    assert not found(source.format(step="describe(x)"))


def test_a_loop_that_calls_steps_makes_the_loop_around_it_one_of_epochs() -> None:
    assert not found("""
        import torch
        def run(runner, phases, loss: torch.Tensor):
            for phase in phases:
                for x in phase:
                    runner.train_step(x)
                print(loss.item())
        """)


def test_a_loop_over_loaders_is_none_over_batches() -> None:
    source = """
        import torch
        def evaluate(model, {loaders}):
            for name, {loader} in enumerate({loaders}):
                for batch in {loader}:
                    score = model(batch)
                print(score.item())
        """
    assert not found(source.format(loaders="loaders", loader="loader"))


def test_a_hook_that_loops_over_training_steps_is_a_round_of_them() -> None:
    source = """
        import torch
        class Policy(torch.nn.Module):
            def forward(self, data):
                for part in data.split(64):
                    loss = self.net(part).sum()
                    {train}
                return loss.item()
        """
    train = "self.optimizer.zero_grad(); loss.backward(); self.optimizer.step()"
    assert not found(source.format(train=train))
    assert found(source.format(train="pass")) == [(7, "ASG102")]


@pytest.mark.parametrize(
    "branch",
    ["if should_record: print(loss)", "if stopped:\n    print(loss)\n    sys.exit(0)"],
)
def test_what_is_recorded_when_it_should_be_or_before_the_end_is_rare(branch: str) -> None:
    text = dedent("""
        import sys
        import torch
        def train(model, loader, should_record, stopped):
            for batch in loader:
                loss = model(batch).sum()
                loss.backward()
        """)
    assert not found(text.lstrip() + indent(branch, " " * 8) + "\n")


@pytest.mark.parametrize("name", ["data_batch", "train_batch", "batch_data", "minibatch"])
def test_a_variable_that_is_a_kind_of_batch_is_one(name: str) -> None:
    source = (
        "import torch\ndef run(x: torch.Tensor, data):\n    for {} in data:\n        x.item()\n"
    )
    assert found(source.format(name)) == [(4, "ASG102")]
    assert not found(source.format("batch_size"))


@pytest.mark.parametrize(("members", "found_at"), [("ensemble", [7]), ("epochs", [])])
def test_a_loop_over_members_of_an_ensemble_is_part_of_a_step(
    members: str, found_at: list[int]
) -> None:
    source = f"""
        import torch
        class Agent:
            def update(self, batch):
                for member in self.{members}:
                    loss = self.criterion(batch)
                    self.optimizer.zero_grad(), loss.backward(), self.optimizer.step()
                print(loss.item())
        """
    assert [line for line, _ in found(source)] == found_at


@pytest.mark.parametrize(("target", "found_at"), [("model", []), ("images", [6])])
def test_a_loop_over_models_is_part_of_what_is_around_it(target: str, found_at: list[int]) -> None:
    source = f"""
        import torch
        class Trainer:
            def train_step(self, steps: int):
                if steps % self.save_every == 0:
                    for {target}, name in self.saved:
                        print(self.model(next(self.valid).cuda()).mean().item())
        """
    assert [line for line, code in found(source) if code == "ASG102"] == found_at


@pytest.mark.parametrize("name", ["judge_early_stop_loss", "synchronize_losses"])
def test_what_is_about_losses_computes_none(name: str) -> None:
    source = "import torch\ndef {}(x: torch.Tensor):\n    print(x)\n"
    assert not found(source.format(name))
    assert found(source.format("contrastive_loss")) == [(3, "ASG101")]


def test_a_loop_over_losses_that_train_is_part_of_a_step() -> None:
    assert found("""
        import torch
        class Trainer:
            def train_iter(self, x):
                for name, loss in self.losses.items():
                    loss(x).backward()
                    self.optimizers[name].step()
            def train(self, data_loader):
                for data in data_loader:
                    self.train_iter(data[0].to(self.device))
        """) == [(9, "ASG106")]


def test_an_iterator_s_next_belongs_to_a_step() -> None:
    assert found("""
        import torch
        class Batches:
            def __next__(self):
                return self.rows[self.at].cuda()
        """) == [(4, "ASG106")]


def test_what_a_test_tries_in_a_loop_is_no_step() -> None:
    source = (
        "import torch\ndef test_net(net, rows):\n    for row in rows:\n        print(net(row))\n"
    )
    assert not check_source(source, "tests/test_net.py", SETTINGS)
    assert [f.line for f in check_source(source, "train.py", SETTINGS)] == [4]


@pytest.mark.parametrize(
    ("condition", "guards"),
    [
        ("step in self.save_steps", True),
        ("step not in self.save_steps", False),
        ("u.itstime(step, 100)", True),
        ("key in self.keys", False),
    ],
)
def test_a_step_among_some_is_rare(condition: str, guards: bool) -> None:
    source = f"""
        import torch
        class Trainer:
            def fit(self, loader, key):
                for step, batch in enumerate(loader):
                    loss = self.model(batch).sum()
                    loss.backward()
                    if {condition}:
                        print(loss.item())
        """
    assert found(source) == ([] if guards else [(8, "ASG102")])


def test_a_barrier_by_its_name_is_reported_where_its_own_file_calls_it(tmp_path: Path) -> None:
    comm = """
        import torch.distributed as dist
        class Strategy:
            def barrier(self):
                dist.barrier()
            def reduce(self, x):
                dist.barrier()
                return x
        """
    train = """
        from comm import Strategy
        def train(model, loader, optimizer):
            strategy = Strategy()
            for batch in loader:
                strategy.reduce(model(batch)).backward()
                optimizer.step()
                strategy.barrier()
        """
    (tmp_path / "comm.py").write_text(dedent(comm))
    (tmp_path / "train.py").write_text(dedent("import torch\n" + dedent(train)))
    assert [f.line for f in check_paths([tmp_path], SETTINGS).findings] == [7]
    (tmp_path / "comm.py").write_text(dedent(comm) + dedent(train.replace("from comm", "#")))
    (tmp_path / "train.py").unlink()
    assert [f.line for f in check_paths([tmp_path], SETTINGS).findings] == [5, 7]


def test_what_gathers_a_state_dict_loops_over_parameters_not_steps() -> None:
    source = """
        import torch
        def {}(model):
            for name, parameter in model.state_dict().items():
                whole[name] = torch.cat([parameter, parameter])
                torch.distributed.barrier()
        """
    assert not found(source.format("gather_cpu_state_dict"))
    assert found(source.format("scale")) == [(5, "ASG202")]


def test_a_loop_over_the_names_of_loaders_is_none_over_batches() -> None:
    source = """
        import torch
        def evaluate(model, all_loaders):
            for name in all_loaders:
                loader = all_loaders[name]
                for batch in loader:
                    model(batch)
                torch.distributed.barrier()
        """
    assert not found(source)


def test_a_point_of_a_training_is_rare_though_it_trains() -> None:
    source = """
        import torch
        class Capture:
            def step(self, loader):
                for batch in loader:
                    if self.iteration == self.{}:
                        torch.cuda.synchronize()
                        self.model(batch).sum().backward()
        """
    assert not found(source.format("warmup"))
    assert found(source.replace("== self.{}", "% 4 == 0")) == [(6, "ASG202")]


def test_what_waits_until_all_is_done_waits_once() -> None:
    source = """
        import jax
        class Queue:
            def {}(self):
                while not self.queue.empty():
                    self.queue.get().block_until_ready()
                    jax.numpy.ones(2) + 1
        """
    assert not found(source.format("wait_for_all"))
    assert found(source.format("exchange")) == [(5, "ASG201")]


def test_a_star_import_brings_the_framework_that_a_file_uses() -> None:
    source = """
        {line}
        class Trainer:
            def train(self):
                for batch in self.train_loader:
                    loss = self.model(batch).sum()
                    loss.backward()
                    {use}
                    print(loss.item())
        """
    use = "torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1)"
    assert found(source.format(line="from parts import *", use=use)) == [(8, "ASG102")]
    assert found(source.format(line="from parts import *", use="pass")) == []
    assert found(source.format(line="import parts", use=use)) == []


@pytest.mark.parametrize(("parts", "many"), [("reals, fakes", False), ("model, batches", True)])
def test_a_loss_of_several_parts_is_one_of_a_step(parts: str, many: bool) -> None:
    source = f"""
        import torch
        def discriminator_loss({parts}):
            shown = []
            for one, other in zip({parts}):
                shown.append(torch.mean((one - other) ** 2).item())
            return shown
        """
    assert bool(found(source)) is not many


def test_a_scheduler_is_handed_a_number_mostly() -> None:
    source = """
        import torch
        def train(model, loader, optimizer, start, scheduler_of):
            scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            for batch in loader:
                loss = model(batch).sum()
                loss.backward()
                optimizer.step()
                scheduler.step({given})
        """
    assert found(source.format(given="start.count")) == []
    assert found(source.format(given="loss")) == [(8, "ASG102")]


COLLECTED = """
import torch
def evaluate(model, loader):
    kept = None
    for batch in loader:
        {reset}
        if kept is None:
            kept = model(batch).cpu()
        else:
            kept = torch.cat([kept, model(batch).cpu()])
"""


def test_what_the_first_batch_begins_is_rare() -> None:
    assert found(COLLECTED.format(reset="pass")) == [(9, "ASG103")]
    assert found(COLLECTED.format(reset="kept = None")) == [(7, "ASG103"), (9, "ASG103")]
    source = """
        import torch
        class Metrics(torch.nn.Module):
            def forward(self, errors, keys):
                count = None
                for key in keys:
                    if count is None:
                        count = torch.bincount(errors[key])
        """
    assert found(source) == [(7, "ASG105")]


@pytest.mark.parametrize(("name", "rare"), [("save_checkpoint", True), ("save_images", False)])
def test_a_model_is_saved_now_and_then(name: str, rare: bool) -> None:
    source = f"""
        import torch
        def {name}(model, batch):
            torch.save(model(batch).cpu(), "out.pt")
        def run(model, loader):
            for batch in loader:
                {name}(model, batch)
        """
    assert bool(found(source)) is not rare


def test_what_a_helper_reads_is_reported_where_it_stands_too() -> None:
    source = """
        import torch
        def sampled(overlaps, low):
            near = (overlaps >= low).nonzero()
            far = (overlaps < low).nonzero()
            return torch.cat((near, far))
        class Layer(torch.nn.Module):
            def forward(self, boxes: torch.Tensor):
                return sampled(boxes, 0.5)
        def shown(boxes):
            return sampled(boxes, 0.5)
        """
    assert found(source) == [(3, "ASG105"), (4, "ASG105"), (8, "ASG105")]


def test_what_merely_asks_for_gradients_again_and_again_is_no_round_of_training() -> None:
    source = """
        import torch
        class Agent:
            def hessian(self, p):
                return torch.cat(torch.autograd.grad(self.kl(p), self.actor.parameters()))
            def direction(self, b):
                x = torch.zeros(b.size()).to(device=self.device)
                for _ in range(10):
                    x += self.hessian(b)
                return x
            def improve(self, sample):
                self.critic(sample).mean().backward()
                self.optimizer.step()
                return self.direction(self.actor(sample).mean())
            def train(self, buffer):
                for sample in buffer.batches():
                    self.improve(sample)
        """
    assert (6, "ASG106") in found(source)


@pytest.mark.parametrize(("test", "rare"), [("i == 0", False), ("i % 9 == 0", True)])
def test_the_first_part_is_gone_over_in_every_step(test: str, rare: bool) -> None:
    source = f"""
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                out = self.layers(x)
                for i in range(len(out)):
                    if {test}:
                        p = out[i].cpu()
                return p
        """
    assert bool(found(source)) is not rare


def test_what_runs_its_own_module_is_a_step() -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return self.layer(x)
            def decode(self, x):
                return self(x).argmax(1).cpu().numpy()
            def evaluate(self, loader):
                return self(next(loader)).cpu()
            def show(self, x):
                return self.layer(x).cpu()
        """
    assert found(source) == [(6, "ASG103")]


def test_what_sets_forward_a_loss_computes_one() -> None:
    source = """
        import torch
        class Matching(Template):
            def set_forward_loss(self, x):
                return self.loss(self.features(x), torch.arange(9).cuda())
            def set_loss(self, x):
                self.loss = self.features(x).item()
        """
    assert found(source) == [(4, "ASG106")]


def test_a_loop_in_a_branch_that_ends_the_program_has_steps() -> None:
    source = """
        import sys
        import torch
        def main(args, model, loader):
            if args.test:
                for x, y in loader:
                    print(model(x.cuda()).cpu())
                sys.exit(0)
        """
    assert found(source) == [(6, "ASG103"), (6, "ASG106")]


def test_a_call_with_the_number_of_a_step_asks_if_it_is_time() -> None:
    source = """
        import torch
        def train(model, optimizer, loader, log):
            for step, x in enumerate(loader):
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                if {test}:
                    print(loss.item())
        """
    due = "log.is_due(step, 100)"
    for guard in (due, f"{due} or log.eager and log.rank == 0"):
        assert found(source.format(test=guard)) == []
    for other in ("log.takes(x, 100)", f"{due} or log.eager or log.rank == 0"):
        assert found(source.format(test=other)) == [(8, "ASG102")]


def test_a_loop_that_moves_a_state_on_computes() -> None:
    source = """
        import jax
        from jax.experimental.multihost_utils import process_allgather
        def evaluate(infer, data, state, num_steps):
            for _ in range(num_steps):
                state = {call}(data, state)
                process_allgather(state.result)
        """
    assert found(source.format(call="infer")) == [(6, "ASG202")]
    assert found(source.format(call="load")) == []


def test_a_loop_over_steps_that_calls_what_computes_has_steps() -> None:
    source = """
        import jax.numpy as jnp
        def solve(u, x):
            return jnp.dot(u, x)
        def factorize(u, x, num_steps):
            for step in range(num_steps):
                error = solve(u, x)
                print(f"{error:.3f}")
        def factorizes(u, x, paths):
            for path in paths:
                print(solve(u, path))
        """
    assert found(source) == [(7, "ASG101")]


def test_a_loop_that_draws_batches_goes_over_steps() -> None:
    source = """
        import jax
        import numpy as np
        def evaluate(net, params, dataset, n):
            while True:
                for _ in range(n):
                    np.asarray(net.apply(params, {drawn}))
                print(net.apply(params, 0))
        """
    assert found(source.format(drawn="next(dataset)")) == [(6, "ASG103")]
    assert (7, "ASG101") in found(source.format(drawn="dataset"))


def test_updates_for_each_step_are_part_of_it() -> None:
    source = """
        import jax
        def run(agent, update, params, opt_state, num_steps, {times}):
            for _ in range(num_steps):
                float(agent.apply(params, 0))
                for _ in range({times}):
                    params, opt_state = update(params, opt_state)
        """
    assert found(source.format(times="updates_per_step")) == [(4, "ASG102")]
    assert found(source.format(times="num_updates")) == []


def test_a_unit_test_is_no_step(tmp_path: Path) -> None:
    text = "import jax.numpy as jnp\ndef test_step():\n    assert jnp.ones(3).all()\n"
    (tmp_path / "tests").mkdir()
    for name, reported in (("test_env.py", False), ("tests/env.py", False), ("env.py", True)):
        (tmp_path / name).write_text(text)
        assert bool(check_paths([tmp_path / name], SETTINGS).findings) is reported


def test_a_flag_that_holds_a_period_is_a_guard() -> None:
    source = """
        import torch
        def train(model, optimizer, loader):
            for step, x in enumerate(loader):
                due = {flag}
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                if due:
                    print(loss.item())
        """
    assert found(source.format(flag="True if step % 10 == 0 else False")) == []
    assert found(source.format(flag="1 if step % 10 == 0 else 2")) == [(9, "ASG102")]


def test_an_evaluation_now_and_then_is_no_training() -> None:
    source = """
        import torch
        def train(model, loader, held):
            for step, x in enumerate(loader):
                model.train_step(x)
                if step % 100 == 0:
                    loss = model.{called}(held)
                    print(model(held).item())
        """
    assert found(source.format(called="valid_step")) == []
    assert found(source.format(called="train_step")) == [(7, "ASG102")]


def test_a_loop_that_moves_a_state_on_has_steps_whatever_it_counts() -> None:
    source = """
        import jax
        def unroll(truncated, state, key):
            for i in range(12):
                {moved}, loss = truncated.unroll_step({moved}, key)
                print(i, loss)
        """
    assert found(source.format(moved="state")) == [(5, "ASG101")]
    assert found(source.format(moved="cursor")) == []


def test_an_odd_batch_that_is_left_out_makes_the_others_no_rarer() -> None:
    source = """
        import torch
        def evaluate(model, loader, args):
            for x in loader:
                if x.size(0) != args.batch_size:
                    continue
                states.append(model(x).cpu())
        """
    assert found(source) == [(6, "ASG103")]


def test_a_loop_in_parts_of_a_size_may_show_its_progress() -> None:
    source = """
        import torch
        from tqdm import trange
        def sample(sampler, device, args):
            for i in trange(0, args.num_images, args.batch_size, desc="sampling"):
                noise = torch.randn(args.batch_size, 3)
                images.append(sampler(noise.to(device)).cpu())
        """
    assert found(source) == [(6, "ASG103"), (6, "ASG106")]


def test_a_step_whose_gradients_come_in_parts_is_no_round_of_training() -> None:
    source = """
        import torch
        class Mixed:
            def backward(self, loss):
                loss.backward()
            def optimize(self, optimizer: torch.optim.Optimizer):
                optimizer.step()
        def main(model, data, args):
            mixed, optimizer = Mixed(), torch.optim.AdamW(model.parameters())
            def gradients(data):
                batch = next(data).to(args.device)
                for part in split(args.size, batch):
                    mixed.backward(model(part).mean())
            for step in range(args.iterations):
                gradients(data)
                mixed.optimize(optimizer)
        """
    assert found(source) == [(10, "ASG106")]


def test_imports_may_name_the_folder_that_a_package_lies_in(tmp_path: Path) -> None:
    models = tmp_path / "project" / "models"
    models.mkdir(parents=True)
    (models / "__init__.py").touch()
    (models / "base.py").write_text(
        dedent("""
            import torch
            class Base:
                def note(self, losses):
                    for name, value in losses.items():
                        self.log[name] = value.mean().item()
            """).lstrip()
    )
    (models / "net.py").write_text(
        dedent("""
            import torch
            from project.models.base import Base
            class Model(Base):
                def optimize(self, x):
                    loss = self.net(x).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.note({"loss": loss})
            """).lstrip()
    )
    findings = check_paths([tmp_path], SETTINGS).findings
    assert {(Path(f.path).name, f.line) for f in findings} == {("base.py", 5), ("net.py", 8)}


@pytest.mark.parametrize("rest", ["self.fit(batch)", "self.rng = batch"])
def test_what_trains_every_nth_time_is_the_step(rest: str) -> None:
    source = f"""
        import torch
        class Agent:
            def fit(self, batch):
                loss = self.net(batch).mean()
                loss.backward()
                self.optimizer.step()
            def update(self, batch, step):
                if step % self.every != 0:
                    return
                {rest}
                self.reward = self.net(batch).mean().item()
            def learn(self, env):
                for step in range(9):
                    env.step(step)
                    self.update(env.batch, step)
        """
    assert found(source) == ([(11, "ASG102")] if "fit" in rest else [])


def test_the_phases_of_a_step_are_parts_of_it() -> None:
    source = """
        import torch
        def train(loss, iterator, phases, device):
            while True:
                images = next(iterator).to(device)
                for phase in phases:
                    for part in images.split(4):
                        loss(phase, part).backward()
                    phase.optimizer.step()
        """
    assert found(source) == [(4, "ASG106")]


def test_a_loss_of_any_class_is_computed_in_every_step() -> None:
    source = """
        import torch
        class PairLoss:
            def calc(self, scores, positives):
                wanted = torch.tensor(positives).to(scores.device)
                return torch.nn.functional.nll_loss(scores, wanted)
        """
    assert found(source) == [(4, "ASG106")]


def test_what_an_engine_is_given_runs_once_a_batch() -> None:
    source = """
        import torch
        from ignite.engine import Engine
        def make_evaluator(model, metrics, device):
            def inference(engine, batch):
                data, labels = batch
                return model(data.to(device)), labels
            engine = Engine(inference)
            for name, metric in metrics.items():
                metric.attach(engine, name)
            return engine
        """
    assert found(source) == [(6, "ASG106")]


@pytest.mark.parametrize(("left", "rare"), [("now - last", True), ("loss - last", False)])
def test_so_long_after_the_last_time_is_rare(left: str, rare: bool) -> None:
    source = f"""
        import time
        import torch
        def train(model, optimizer, loader, last):
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                now = time.time()
                if {left.replace("loss", "len(x)")} >= 60:
                    print(loss.item())
        """
    assert found(source) == ([] if rare else [(10, "ASG102")])


def test_what_is_compiled_in_passing_trains_as_what_is_compiled_where_it_stands() -> None:
    source = """
        import tensorflow as tf
        class Trainer:
            def steps(self, dataset):
                step = {}(self._apply)
                for batches in self.group(dataset):
                    for batch in batches:
                        self.collect(batch)
                    loss = tf.reduce_sum(self.total)
                    step(loss)
                    yield float(loss)
            def _apply(self, scale):
                self.optimizer.apply_gradients(self.gradients(scale))
        """
    assert found(source.format("tf.function")) == [(10, "ASG102")]
    assert found(source.format("tf.shape")) == []


def test_a_loop_that_asks_for_gradients_by_a_function_goes_over_steps() -> None:
    source = """
        import tensorflow as tf
        import tensorflow_probability as tfp
        def search(score, points):
            while True:
                values = tfp.math.{}(score, points)
                points = yield values[0].numpy()
        """
    assert found(source.format("value_and_gradient")) == [(6, "ASG103")]
    assert found(source.format("reduce_logmeanexp")) == []


@pytest.mark.parametrize(("work", "step"), [("scorer.score(x)", True), ("len(names)", False)])
def test_what_an_object_of_any_class_does_with_a_batch_is_work(work: str, step: bool) -> None:
    source = f"""
        import tensorflow as tf
        def score(scorer, dataset, names):
            for x in dataset:
                {work}
                names.append(x.numpy())
        """
    assert found(source) == ([(5, "ASG103")] if step else [])


@pytest.mark.parametrize(("steps", "inner"), [("steps", True), ("layers", False)])
def test_a_loop_that_runs_a_compiled_step_for_steps_goes_over_steps(
    steps: str, inner: bool
) -> None:
    source = f"""
        import tensorflow as tf
        def evaluate(sets, model, {steps}):
            @tf.function
            def run(iterator):
                return model(next(iterator))
            for name in sets:
                x = iter(sets[name])
                for _ in range({steps}):
                    x = run(x)
                print(x.numpy())
        """
    assert found(source) == ([] if inner else [(10, "ASG103")])


@pytest.mark.parametrize(("count", "step"), [("epochs", False), ("parts", True)])
def test_what_goes_over_epochs_is_no_part_of_a_step(count: str, step: bool) -> None:
    source = f"""
        import tensorflow as tf
        def experiment(model, optimizer, {count}):
            first = optimizer.iterations.numpy()
            for _ in range(first, {count}):
                model(first)
        def main(model, optimizer, {count}):
            while True:
                experiment(model, optimizer, {count})
        """
    assert found(source) == ([(3, "ASG103")] if step else [])


@pytest.mark.parametrize(("item", "step"), [("x", False), ("model(x)", True)])
def test_what_collects_a_data_set_alone_is_no_step(item: str, step: bool) -> None:
    source = f"""
        import tensorflow as tf
        def collect(model, rows):
            loader = tf.data.Dataset.from_tensor_slices(rows).shuffle(9).batch(3)
            return [{item}.numpy() for x in loader]
        """
    assert found(source) == ([(4, "ASG103")] if step else [])


def test_what_is_named_an_operation_of_training_is_one() -> None:
    assert found("""
        import jax
        class Trainer:
            def train_step(self, summary, data):
                for name, value in self.train_op(data).items():
                    summary.scalar(name, float(value))
        """) == [(5, "ASG102")]


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("lib.train(state, n_steps=100)", []),
        ("lib.train(state, steps=1)", [(6, "ASG103")]),
        ("lib.train(state, batch=data)", [(6, "ASG103")]),
    ],
)
def test_training_for_a_number_of_steps_is_a_round(call: str, waits: list[tuple[int, str]]) -> None:
    assert (
        found(f"""
        import jax
        import lib
        def main(state, stages, data):
            for stage in stages:
                state = {call}
                keep(jax.device_get(state))
        """)
        == waits
    )


def test_an_experiment_takes_steps_and_maps_a_function_over_their_results() -> None:
    assert found("""
        import jax
        from jaxline import utils
        def to_scalar(x):
            return x.item()
        class Experiment:
            def step(self, rng):
                self.params, self.opt_state, scalars = self.updater.update(
                    self.params, self.opt_state, rng
                )
                scalars = utils.get_first(scalars)
                return jax.tree.map(to_scalar, scalars)
        """) == [(4, "ASG102"), (11, "ASG102")]


def test_a_method_of_an_object_means_that_of_its_class_or_of_a_subclass(tmp_path: Path) -> None:
    base = """
        import torch
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class Loss(torch.nn.Module, Generic[T]):
            def forward(self, out, target):
                return self.sum_up(out, target)
            def sum_up(self, out, target):
                return (out - target).sum()
        """
    masked = """
        import torch
        from base import Loss
        class Masked(Loss[int]):
            def sum_up(self, out, target):
                mask = target > 0
                return out.sum() if mask.any() else out.mean()
        """
    other = """
        import torch
        class Report:
            def sum_up(self, out: torch.Tensor, target: torch.Tensor):
                return out.sum().item()
        """
    for name, text in (("base", base), ("masked", masked), ("other", other)):
        (tmp_path / f"{name}.py").write_text(dedent(text))
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line, f.code) for f in findings] == [("masked.py", 7, "ASG104")]


LOSS = """
    import torch
    class Loss(torch.nn.Module):
        def forward(self, out, target):
            print(out.mean())
            return self.sum_up(out, target)
        def sum_up(self, out, target):
            return (out - target).sum()
    """


def test_only_what_a_call_means_is_looked_at(tmp_path: Path) -> None:
    """Not all functions of that name: `sum_up` of other classes says nothing of this call."""
    sources = {
        "base.py": LOSS,
        "masked.py": """
            import torch
            from base import Loss
            class Masked(Loss):
                def sum_up(self, out, target):
                    return out.sum().item()
            """,
        "other.py": """
            import torch
            class Report:
                def sum_up(self, out: torch.Tensor, target: torch.Tensor):
                    return out.sum().item()
            """,
    }
    paths = {name: str(tmp_path / name) for name in sources}
    for name, text in sources.items():
        (tmp_path / name).write_text(dedent(text))
    checker = worker.Worker(worker.index([*paths.values()]), worker.Options(False))
    graph = network.Network({path: checker.check(path) for path in paths.values()})
    assert network.to_wake(graph) == {paths["masked.py"]: {"sum_up"}}


def test_a_subclass_is_looked_at_beside_others_that_were_looked_at_before(tmp_path: Path) -> None:
    sources = {
        "base.py": LOSS,
        "losses.py": """
            import torch
            from base import Loss
            class Plain:
                def sum_up(self, out):
                    return out.sum()
            def train(loader, model, optimizer):
                plain = Plain()
                for x in loader:
                    plain.sum_up(model(x)).backward()
                    optimizer.step()
            class Masked(Loss):
                def sum_up(self, out, target):
                    return out.sum().item()
            """,
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(dedent(text))
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("base.py", 5), ("losses.py", 14)]


def test_what_is_reset_is_reset_now_and_then() -> None:
    source = """
        import torch
        class Loss(torch.nn.Module):
            def {name}(self):
                self.total = torch.tensor(0.0, device=self.device)
            def forward(self, out):
                self.{name}()
                return out
        """
    assert found(source.replace("{name}", "clear")) == [(4, "ASG106")]
    assert found(source.replace("{name}", "reset")) == []


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("if key in self.kept:\n    return self.kept[key]", []),
        ("if key in self.kept:\n    return key", [8]),
        ("if key not in self.kept:\n    return self.kept[key]", [8]),
    ],
)
def test_what_is_kept_is_found_out_once(kept: str, told: list[int]) -> None:
    body = indent(kept, " " * 8)
    source = f"""
import torch
class Model(torch.nn.Module):
    def forward(self, x, key):
        return x * self.size(x, key)
    def size(self, x, key):
{body}
        size = x.max().item()
        self.kept[key] = size
        return size
"""
    assert [line for line, _ in found(source)] == told


def test_what_is_missing_in_a_part_of_something_is_made_once() -> None:
    source = """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x, kind):
                if "steps" not in self.sums[kind]:
                    self.sums[kind]["steps"] = torch.tensor(0, device=x.device)
                if "steps" not in self.others[kind]:
                    self.sums[kind]["steps"] = torch.tensor(0, device=x.device)
                return x
        """
    assert found(source) == [(7, "ASG106")]


def test_of_several_packages_of_a_name_a_script_imports_that_beside_it(tmp_path: Path) -> None:
    for name in ("first", "second"):
        core = tmp_path / name / "core"
        core.mkdir(parents=True)
        (core / "__init__.py").write_text("from core.score import *\n")
        (core / "score.py").write_text(
            "import mxnet\ndef area(boxes):\n    return boxes.asnumpy()\n"
        )
        (tmp_path / name / "train.py").write_text(
            "import mxnet\nfrom core import area\ndef run(net, loader):\n"
            "    for x, y in loader:\n        total = area(net(x))\n"
        )
    findings = check_paths([tmp_path], SETTINGS).findings
    found = [(Path(f.path).relative_to(tmp_path).as_posix(), f.line) for f in findings]
    inner, outer = ("core/score.py", 3), ("train.py", 5)
    assert found == [(f"{n}/{p}", line) for n in ("first", "second") for p, line in (inner, outer)]


@pytest.mark.parametrize("drawn", ["next(ds)", "next(data)"])
def test_a_loop_over_data_sets_that_draws_of_each_is_a_part(drawn: str) -> None:
    source = f"""
        import jax
        def train(loss_fn, update, state, data, sets, n):
            for step in range(n):
                state = update(state, next(data))
                if step % 100 == 0:
                    for split, ds in sets.items():
                        print(split, float(loss_fn(state.params, {drawn})))
        """
    assert bool(found(source)) == (drawn == "next(data)")


@pytest.mark.parametrize("target", ["i", "epoch"])
def test_epochs_times_the_steps_of_one_are_steps(target: str) -> None:
    source = f"""
        import jax
        from model import train_step
        def run(state, batches, epochs, steps_per_epoch):
            for {target} in range(1, int(steps_per_epoch * epochs) + 1):
                metrics = jax.jit(train_step)(state, batches[{target}])
                jax.device_get(metrics)
        """
    assert bool(found(source)) == (target == "i")


@pytest.mark.parametrize("name", ["_should_run", "_wants"])
def test_a_method_that_says_what_should_run_guards(name: str) -> None:
    source = f"""
        import jax
        class Action:
            def after(self, step):
                if self.{name}():
                    print(jax.numpy.mean(self.cache))
        def train(update, state, batches):
            action = Action()
            for batch in batches:
                state = update(state, batch)
                action.after(batch)
        """
    assert bool(found(source)) == (name == "_wants")


@pytest.mark.parametrize(
    "flags",
    ["[(i % n == 0) for n in (10, 100)]", "i % 10 == 0, i % 100 == 0"],
)
def test_several_flags_that_hold_periods_are_guards(flags: str) -> None:
    source = f"""
        import jax
        def train(update, state, batches):
            for i, batch in enumerate(batches):
                state, loss = jax.jit(update)(state, batch)
                log, save = {flags}
                if log or save:
                    print(loss)
                print(loss.mean())
        """
    assert found(source) == [(8, "ASG101")]


def test_an_evaluation_now_and_then_makes_steps_no_epochs() -> None:
    source = """
        import jax
        def evaluate(model, params, loader):
            for batch in loader:
                model.apply(params, batch).block_until_ready()
        def train(model, update, params, opt_state, loader, x, num_epochs):
            for epoch in range(num_epochs):
                params, opt_state, loss = update(params, opt_state, x)
                {when}evaluate(model, params, loader)
                print(loss)
        """
    assert (9, "ASG101") in found(source.format(when="if epoch % 100 == 0: "))
    assert (9, "ASG101") not in found(source.format(when=""))


def test_a_loop_over_functions_is_a_part_of_a_step() -> None:
    source = """
        import jax
        def train(update, state, batches, functions):
            for step, batch in enumerate(batches):
                state = jax.jit(update)(state, batch)
                if step % 100 == 0:
                    for value_fn in functions:
                        print(value_fn(state, batch))
        """
    assert found(source) == []


@pytest.mark.parametrize("made", ["jax.value_and_grad(loss)", "jax.jit(jax.value_and_grad(loss))"])
def test_a_loop_that_calls_a_gradient_by_a_name_has_steps(made: str) -> None:
    source = f"""
        import jax
        def fit(loss, descend, params, x, n):
            gradient = {made}
            for epoch in range(n):
                value, slope = gradient(params, x)
                descend(params, slope)
                print(value)
        """
    assert found(source) == [(7, "ASG101")]


@pytest.mark.parametrize(
    "call",
    [
        "self.sum_up(out)",
        "{'sum': self.sum_up}[self.kind](out)",  # handed on
        "self.base.sum_up(out)",  # or of whatever else this may be
    ],
)
def test_a_subclass_is_meant_where_its_class_is(tmp_path: Path, call: str) -> None:
    base = f"""
        import torch
        class Base(torch.nn.Module):
            def __init__(self, kind):
                self.kind, self.base = kind, Base(kind)
            def forward(self, out):
                if out.max() > 3:
                    pass
                return {call}
            def sum_up(self, out):
                return out.sum()
        """
    own = """
        import torch
        from base import Base
        class Own(Base):
            def sum_up(self, out: torch.Tensor):
                return out.sum().item()
        """
    (tmp_path / "base.py").write_text(dedent(base))
    (tmp_path / "own.py").write_text(dedent(own))
    findings = check_paths([tmp_path], SETTINGS).findings
    assert "own.py" in [Path(f.path).name for f in findings]


@pytest.mark.parametrize(
    ("test", "lines"), [("if not self.ready:", [11]), ("with self.place:", [])]
)
def test_a_step_may_make_its_optimizer_the_first_time(test: str, lines: list[int]) -> None:
    source = f"""
        import tensorflow as tf
        class Trainer:
            def train(self):
                {test}
                    self.optimizer = tf.keras.optimizers.Adam()
                    self.ready = True
                with tf.GradientTape() as tape:
                    loss = self.model(self.memory.sample())
                grads = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
                self.info["loss"] = loss.numpy()
        """
    assert [line for line, _ in found(source)] == lines


@pytest.mark.parametrize(("stages", "lines"), [("[1000, 2000]", [10]), ("config.stages", [6])])
def test_a_loop_over_numbers_is_over_no_steps(stages: str, lines: list[int]) -> None:
    source = f"""
        import tensorflow as tf
        def train(config, dataset, model):
            decay_steps = {stages}
            at = tf.Variable(1)
            for decay_step in decay_steps:
                if at > decay_step:
                    at = at + 1
            for batch in dataset:
                model(batch)
                if at in decay_steps:
                    at = at + 1
        """
    assert [line for line, _ in found(source)] == lines


@pytest.mark.parametrize(("name", "lines"), [("evaluate", []), ("predict", [5])])
def test_a_model_of_unknown_class_may_have_the_methods_of_one_here(
    name: str, lines: list[int]
) -> None:
    source = f"""
        import tensorflow as tf
        class Trainer:
            def train_batch(self, batch):
                with tf.GradientTape() as tape:
                    value = self.target_net.{name}(batch)
                return value
        class Policy(tf.keras.Model):
            def evaluate(self, batch):
                return self(batch)
        """
    assert [line for line, _ in found(source)] == lines
