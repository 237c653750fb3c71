"""What the frameworks' own idioms tell of values and of steps."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from asyncguard.lint import knowledge
from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.modules.project import Project, index
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False, ignore=("ASG301", "ASG302", "ASG401", "ASG402", "ASG403"))

# Each source is found to wait on the lines that end in `# waits`, and nowhere else.
SOURCES = {
    "what is recorded for no training is none of a step": """
        from mxnet import autograd, gluon, nd
        def train(net, trainer, train_data, loss_fn):
            for i, (x, y) in enumerate(train_data):
                with autograd.record():
                    loss = loss_fn(net(x), y)
                loss.backward()
                trainer.step(1)
                if i % 500 == 0:
                    with autograd.record(False):
                        sample = net(nd.random.randn(25, 1))
                    show(sample.asnumpy())
        """,
    "what only updates a metric waits, by whatever name": """
        import mxnet as mx
        def accuracy(net, val_data):
            top1 = mx.metric.Accuracy()
            for x, y in val_data:
                top1.update([y], [net(x)])  # waits
            return top1.get()[1]
        """,
    "a parameter is the metric that it is by default": """
        import mxnet as mx
        def accuracy(net, val_data, batch_fn, top1=mx.metric.Accuracy(), ctx=[mx.cpu()]):
            for batch in val_data:
                data, label = batch_fn(batch, ctx)
                outputs = [net(x) for x in data]
                top1.update(label, outputs)  # waits
            return top1.get()[1]
        """,
    "one element of an array is given a number": """
        import numpy as np
        from mxnet import autograd, nd
        def encode(anchors, count):
            anchors = anchors.asnumpy()  # waits
            targets = nd.zeros((3, 4, 5))
            for b in range(count):
                for a in range(count):
                    targets[b, a, 0] = np.log(max(count, 1) / anchors[a, 0])
                targets[b] = anchors  # waits
            return targets
        def train(net, loader):
            for x, y in loader:
                with autograd.record():
                    loss = net(x, encode(y, 3))  # waits
                loss.backward()
        """,
    "what is put into a dict of losses is what it was": """
        import numpy as np
        import tensorflow as tf
        from time import time
        class Trainer:
            @tf.function
            def train_step(self, data):
                return self.strategy.run(self._train_step, args=(next(data),))
            def train(self, data):
                for _ in range(0, self.train_steps, self.count):
                    start = time()
                    losses = self.train_step(data)
                    losses["time"] = np.round(time() - start, 2)
                    print(self.count / losses["time"])
                    print(losses["total"])  # waits
        """,
    "a metric is told by its name, and one of several models by a method that only they have": """
        import tensorflow as tf
        def train(models, optimizer, dataset, loss_metric):
            for step, (x, y) in enumerate(dataset):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(models["a"](x) - y)
                optimizer.apply_gradients(tape.gradient(loss, variables))
                print(float(loss_metric.result()))  # waits
                scores["b"] = models["b" + str(step)].train_on_batch(x, y)  # waits
        """,
    "a loss that its function calls a float is on the device, where it plainly is": """
        import tensorflow as tf
        class Gan:
            def _train(self, x) -> float:
                with tf.GradientTape() as tape:
                    loss = tf.sqrt(self.model(x))
                self.optimizer.apply_gradients(tape.gradient(loss, self.variables))
                return loss
            def _score(self, x) -> float:
                return self.model(x).loss
            def fit(self, batches, epochs):
                for epoch in range(epochs):
                    for _ in range(2):
                        loss = self._train(next(batches))
                    self.losses.append(float(loss))  # waits
                    self.scores.append(self._score(batches))
                    if epoch in self.milestones:
                        print(loss)
        """,
    "what a callback draws at an epoch's end goes over samples, not steps": """
        import tensorflow as tf
        class Monitor(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                images = tf.random.normal((self.samples, 28))
                for i in range(self.num_samples):
                    draw(tf.squeeze(images[i]).numpy())
                for batch in self.batches:
                    self.scores.append(self.model(batch).numpy())  # waits
        """,
    "an agent is saved now and then": """
        import tensorflow as tf
        class Agent(tf.Module):
            def save(self, path):
                write(path, [variable.numpy() for variable in self.variables])
            def act(self, state):
                return self.policy(state).numpy()  # waits
        def train(env, steps):
            agent, state = Agent(), env.reset()
            for step in range(steps):
                state, reward, done, _ = env.step(agent.act(state))
                agent.save("agent.npz")
        """,
    "a loop that trains a model for epochs goes over trainings": """
        from tensorflow import keras
        def compare(sizes, minibatch, x, y):
            model = keras.Sequential([keras.layers.Dense(1)])
            for size in sizes:
                model.fit(x[:size], y[:size], epochs=100)
                scores.append(model.predict(x))
            for state, target in minibatch:
                model.fit(state, target, epochs=1)
                scores.append(model.predict(state))  # waits
        """,
    "the items of a batch are its parts": """
        import jax.numpy as jnp
        def log(steps, batch, due):
            if due:
                for key, value in batch.items():
                    print(jnp.mean(value))
            for step in range(steps):
                print(jnp.mean(batch["x"]))  # waits
        """,
    "what traced code hands on is traced with it; a loop counts with humps as well": """
        import tensorflow as tf
        def train_step(model, optimizer, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            optimizer.apply_gradients(tape.gradient(loss, model.variables))
            print(loss)
            return loss
        @tf.function
        def distributed(strategy, args):
            return strategy.run(train_step, args=args)
        def fit(strategy, model, optimizer):
            def step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x))
                optimizer.apply_gradients(tape.gradient(loss, model.variables))
                print(loss)
            @tf.function
            def distributed(x):
                return strategy.run(step, args=(x,))
        def minimize(x, maxIter):
            nIter = 0
            while nIter < maxIter:
                x = x - tf.reduce_sum(x * x)
                if tf.reduce_sum(x) < 1e-9:  # waits
                    break
        """,
    "a table of a model is text": """
        import jax
        def train(model, params, batches):
            for batch in batches:
                loss, grads = jax.value_and_grad(model.apply)(params, batch)
                print(model.tabulate(params, batch))
                print(loss)  # waits
        """,
    "a file that records gradients runs at once, though it opens a session to save memory": """
        import tensorflow as tf
        tf.compat.v1.InteractiveSession(config=CONFIG)
        def train(model, optimizer, dataset):
            loss_avg = tf.keras.metrics.Mean()
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) - y)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
                loss_avg(loss)
                print(f"{loss_avg.result():.4f}")  # waits
        """,
    "what `fit` tells of itself are numbers": """
        import tensorflow as tf
        def train(model, value_model, optimizer, dataset):
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) - y)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
                history = value_model.fit(x, y)
                value_loss = history.history["loss"][-1]
                print(f"{value_loss} {loss}")  # waits
                print(f"{value_loss}")
        """,
    "what a list of numbers holds is one, and stays one when it is scaled": """
        import tensorflow as tf
        def train(model, data, count):
            total_loss = 0
            for x, y in data:
                losses = model.train_on_batch(x, y)  # waits
                total_loss += losses[1]
                part_loss = losses[0]
                part_loss /= count
                print(total_loss, part_loss)
        """,
    "what a function makes of a device value that it replaces is on the device, in JAX": """
        import jax
        from tools import combine, to_numpy
        def evaluate(step, params, data):
            step = jax.pmap(step)
            for batch in data:
                metrics = step(params, batch)
                metrics = combine(metrics)
                print(float(metrics["accuracy"]))  # waits
                metrics = to_numpy(metrics)  # waits
                print(float(metrics["accuracy"]))
        """,
    "a method that is handed parameters runs the model": """
        import jax
        def run(agent, env, params, key):
            timestep, state = env.reset(), agent.initial_state()
            while not timestep.last():
                output, state = agent.actor_step(params, timestep, state, key)
                timestep = env.step(int(output.actions))  # waits
        """,
    "an agent's method that is handed parameters, whichever, runs a model; counts are none": """
        import jax
        import numpy as np
        from base import Algorithm
        class Actor(Algorithm):
            def select_action(self, state):
                action = self._select_action(self.params_actor, state[None])
                return np.array(action[0])  # waits
            def widen(self, state):
                return np.array(self._repeat(self.num_params, state)[0])
            def train(self, env):
                state = env.reset()
                for step in range(1000):
                    state, reward, done, _ = env.step(self.select_action(state))
                    size = self._round(self.meta_params, reward)
                    print(float(size))
        """,
    "what is a model's output on one path may be a dict after all of them": """
        import jax
        def merge(a, b):
            a, b = jax.tree_util.tree_map(fetch, (a, b))
            return jax.tree_util.tree_map(lambda x, y: x.merge(y), a, b)
        class Trainer:
            def evaluate(self, params, batches):
                metrics = None
                for batch in batches:
                    update = self.compiled.eval_step(params, jax.device_put(batch))
                    if metrics:
                        metrics = merge(metrics, update)
                    else:
                        metrics = update
        """,
    "what NumPy converts of TensorFlow's it converts of JAX's; a step of SGD trains": """
        import jax
        import numpy as np
        class Agent:
            def __init__(self, forward, sgd_step):
                self._forward, self._sgd_step = jax.jit(forward), jax.jit(sgd_step)
            def select_action(self, timestep):
                values = self._forward(timestep.observation[None])
                return np.random.choice(np.flatnonzero(values == values.max()))  # waits
            def update(self, timestep):
                self._state = self._sgd_step(self._state, timestep)
                if self._state.step % self._period == 0:  # waits
                    self._state = self._state._replace(target=self._state.params)
        """,
    "Objax compiles with a class of its own": """
        import objax
        def train(op, batches):
            op = objax.Jit(op)
            for x, y in batches:
                print(float(op(x, y)[0]))  # waits
        """,
    "what only its methods tell is no more CuPy's than NumPy's, as far as lists go": """
        import chainer
        def train(model, optimizer, subset, views: list):
            for batch in subset:
                images = batch.images.transpose(0, 1, 4, 2, 3).astype("f")
                first = images[:, views]
                loss = model(first)
                loss.backward()
                optimizer.update()
        """,
    "what a star import out of sight brings goes by the customary names": """
        from networks import *
        def train(model, dataset, optimizer):
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(x) - y))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
                tf.summary.scalar("loss", loss, step=1)  # waits
                best = np.max(loss)  # waits
        """,
    "an agent that an update gives back is trained, and what comes with it is on the device": """
        import jax
        def run(agent, buffer):
            for step in range(1000):
                agent, info = agent.update(buffer.sample(32))
                means = {name: float(value) for name, value in info.items()}  # waits
        """,
    "a training state counts its steps on the device": """
        import jax
        from steps import train_step
        def run(state, batches):
            for batch in batches:
                state, metrics = train_step(state, batch)
                step = int(state.step)  # waits
        """,
    "what functions are named after policies and steps give is on the device": """
        import jax
        import numpy as np
        def evaluate(policy_fn, env):
            observation, done = env.reset(), False
            while not done:
                action = policy_fn(observation)
                if np.random.random() < 0.1:
                    action = np.random.choice([0, 1])
                observation, reward, done, info = env.step(np.array(action))  # waits
        """,
    "a function that has some arguments already is compiled all the same": """
        import functools
        import jax
        import metrics
        class Trainer:
            def __init__(self, config, state):
                self.state = state
                self.step = jax.jit(functools.partial(_train_step, config=config))
            def train(self, batches):
                for batch in batches:
                    self.state, loss = self.step(self.state, batch)
                    print(loss)  # waits
            def get_metrics(self, given):
                return jax.device_get(given)
        def _train_step(state, batch, config):
            loss, grads = jax.value_and_grad(f)(state.params, batch)
            if loss > 3:
                loss = loss * 2
            return state.apply_gradients(grads=grads), metrics.get_metrics(loss)
        """,
    "what a function has already is read as what it is given": """
        import functools
        import torch
        def report(name, x):
            print(name, x.item())  # waits
        def train(model, loader):
            note = functools.partial(report, "loss")
            for x in loader:
                loss = model(x).sum()
                loss.backward()
                note(loss)  # waits
        """,
    "NumPy stands in for CuPy, and its lists for what indexes an array": """
        from settings import gpu
        if gpu:
            import cupy as np
        else:
            import numpy as np
        def train(model, optimizer, ids):
            for step in range(100):
                model.backward()
                norm = np.sqrt(np.sum(model.grad**2))
                if norm < 1:  # waits
                    norm = norm + np.zeros(10)[list(ids)]  # waits
                optimizer.update()
        """,
    "a sum of numbers is one, and an array's shape holds some": """
        from mxnet import autograd
        def train(model, criterion, trainer, loader):
            for x, y in loader:
                with autograd.record():
                    outputs = [model(part)[0] for part in x]
                    losses = [criterion(part, y) for part in outputs]
                trainer.step(1)
                loss = sum([part.asscalar() for part in losses])  # waits
                loss = loss / sum([part.shape[0] for part in losses])
                print(loss)
        """,
    "a library on top of TensorFlow brings it along": """
        import tensorlayer as tl
        class Agent:
            def __init__(self, policy_net):
                self.policy_net = policy_net
            def get_action(self, state):
                return self.policy_net(state).numpy()[0]  # waits
        """,
    "NumPy's reductions convert TensorFlow's tensors": """
        import numpy as np
        import tensorflow as tf
        def train(model, dataset, optimizer):
            for x, y in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(x) - y))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
                best = np.max(model(x))  # waits
                shape = np.shape(model(x))
        """,
    "what TensorFlow says of structures and of itself is no tensor": """
        import tensorflow as tf
        def train(model, dataset):
            for x in dataset:
                y = model(x)
                if tf.nest.is_nested(y) or tf.executing_eagerly():
                    parts = tf.nest.flatten(y)
                    if not parts or tf.is_symbolic_tensor(y):
                        continue
                print(tf.reduce_sum(y))  # waits
        """,
    "a structure of JAX's trees is no array, and what as_numpy gives is NumPy's": """
        import jax
        import tensorflow_datasets as tfds
        def train(step, params, opt_state, data):
            for batch in tfds.as_numpy(data):
                if batch["weight"].sum() > 0:
                    params, opt_state, loss = step(params, opt_state, batch)
                leaves, structure = jax.tree_util.tree_flatten(params)
                if structure != jax.tree_util.tree_structure(opt_state):
                    print(loss)  # waits
        """,
    "what is called a mask holds indices, where a framework makes no masks": """
        import mxnet as mx
        def train(net, loader, mask):
            for x in loader:
                with mx.autograd.record():
                    loss = net(x)[mask].sum()
                loss.backward()
                print(loss)  # waits
        """,
    "what is called a mask is one, where a framework makes them": """
        import tensorflow as tf
        def evaluate(model, dataset, train_mask):
            for x in dataset:
                y = model(x)
                tf.reduce_sum(y[train_mask])  # waits
        """,
    "NumPy's reductions of Chainer's arrays stay on the device": """
        import chainer
        import chainer.functions as F
        import numpy as np
        def train(model, train_iter, optimizer):
            for batch in train_iter:
                loss = F.mean(model(batch))
                loss.backward()
                optimizer.update()
                total = np.sum(loss.array)
                if total > 0:  # waits
                    break
        """,
    "an attribute that only Chainer's variables have": """
        import chainer
        def update(optimizer, values, rewards):
            loss = 0
            for value, reward in zip(values, rewards):
                loss += (value - reward) ** 2
                history.append(float(value.array))  # waits
            loss.backward()
            optimizer.update()
        """,
    "a Chain's call is its forward pass": """
        import chainer
        from chainer import cuda
        class Loss(chainer.Chain):
            def __call__(self, x, scales):
                if isinstance(scales, chainer.Variable):
                    scales = scales.array
                return self.head(x, cuda.to_cpu(scales))  # waits
        """,
    "lists and typed arrays are uploaded, device values are not": """
        import chainer
        class Agent(chainer.Chain):
            def update_core(self, rewards, x: chainer.Variable):
                xp = self.xp
                a = xp.array([1.0 for _ in range(9)])  # waits
                b = xp.asarray(rewards, dtype=xp.float32)  # waits
                c = chainer.cuda.to_gpu(rewards)  # waits
                d = xp.asarray(rewards)
                return a, b, c, d, xp.array(x.array)
        """,
    "the weights of a Keras model are copied to the host": """
        import tensorflow as tf
        def train(model, target, data):
            for x, y in data:
                model.train_on_batch(x, y)  # waits
                target.set_weights(model.get_weights())  # waits
        """,
    "a model that predicts runs a step of its loop": """
        import tensorflow as tf
        def score(encoder, data, save):
            for item in data:
                vectors = encoder.predict_on_batch(item)  # waits
                save(vectors)
        """,
    "whatever made it, what trains on batches is a model": """
        import numpy as np
        from keras import backend as K
        class Net:
            def __init__(self, plan):
                self.q = plan(K.placeholder())
            def act(self, state):
                values = self.q.predict_on_batch(state)  # waits
                return np.argmax(values)
        """,
    "an optimizer's counters and a metric's result are variables": """
        import tensorflow as tf
        def train(model, dataset):
            optimizer = tf.keras.optimizers.Adam()
            mean = tf.keras.metrics.Mean()
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = model(x)
                grads = tape.gradient(loss, model.variables)
                optimizer.apply_gradients(zip(grads, model.variables))
                mean.update_state(loss)
                step = optimizer.iterations.numpy()  # waits
                rate = optimizer.lr.numpy()  # waits
                value = float(mean.result())  # waits
        """,
    "a function mapped over a structure reads what that holds": """
        import tensorflow as tf
        @tf.function
        def step(x, model, optimizer):
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.w), model.w))
            return loss
        def train(dataset, model, optimizer):
            for x in dataset:
                loss = step(x, model, optimizer)
                loss = tf.nest.map_structure(lambda v: v.numpy(), loss)  # waits
                print(loss)
        """,
    "what calls the traced training step runs one": """
        import numpy as np
        import tensorflow as tf
        class Policy:
            def train(self, states):
                loss, logp = self._train_body(states)
                tf.summary.scalar(name="loss", data=loss)  # waits
                tf.summary.scalar(name="logp", data=np.mean(logp))  # waits
            @tf.function
            def _train_body(self, states):
                with tf.GradientTape() as tape:
                    loss = self.actor(states)
                grads = tape.gradient(loss, self.actor.variables)
                self.optimizer.apply_gradients(zip(grads, self.actor.variables))
                tf.summary.scalar(name="inner", data=loss)
                return loss, loss
        """,
    "a function that may be traced writes no summary": """
        import tensorflow as tf
        class Agent:
            def compute(self, x):
                with tf.GradientTape() as tape:
                    loss = self.model(x)
                tf.summary.scalar("loss", loss)
                return loss
        """,
    "a session's results are NumPy's": """
        import tensorflow as tf
        def train(sess, train_op, loss_op, data):
            for batch in data:
                _, loss = sess.run([train_op, loss_op], feed_dict=batch)
                print(float(loss))
        """,
    "a strategy runs the step that it is given": """
        import tensorflow as tf
        def train(model, optimizer, data, history):
            strategy = tf.distribute.MirroredStrategy()
            def step(x):
                with tf.GradientTape() as tape:
                    loss = model(x)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.w), model.w))
                return loss
            for x in strategy.experimental_distribute_dataset(data):
                losses = strategy.run(step, args=(x,))
                total = strategy.reduce("SUM", losses, axis=None)
                history.append(total.numpy())  # waits
        """,
    "nodes of a graph have no value yet": """
        import tensorflow as tf
        x = tf.placeholder(tf.float32)
        def build(layers):
            for step in range(3):
                with tf.GradientTape() as tape:
                    y = tf.nn.relu(x)
                if y in layers:
                    print(y)
        """,
    "a loop over a data set alone is no step": """
        import tensorflow as tf
        def count(path, seen):
            dataset = tf.data.TFRecordDataset(path)
            for record in dataset:
                seen.add(record.numpy())
        """,
    "a property is a call": """
        import chainer
        class Agent:
            @property
            def temperature(self):
                return float(self.holder().array)  # waits
            def update_core(self, loss):
                print(loss)  # waits
                return self.temperature * loss
        """,
    "a key of a dictionary is hashed, not read": """
        import tensorflow as tf
        def train(model, dataset, optimizer):
            names = {}
            for x in dataset:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x))
                optimizer.apply_gradients(tape.gradient(loss, model.w))
                names[loss.ref()] = 1
                value = names[loss]
        """,
    "a log that is off costs nothing": """
        import chainer
        import logging
        class Agent:
            def __init__(self, logger=None):
                self.logger = logger or logging.getLogger(__name__)
            def act(self, obs):
                q = self.model(obs)
                self.logger.debug("q: %s", q.array)
                self.logger.info("q: %s", q.array)  # waits
        """,
    "every n-th round that trains is the step": """
        import torch
        def run(env, agent, optimizer, model, train_every):
            for t in range(9000):
                env.step(0)
                if t % train_every == 0:
                    loss = model(t)
                    loss.backward()
                    optimizer.step()
                    print(loss)  # waits
                if t % 100 == 0:
                    print(model(t))
        """,
    "the first round of an inner loop comes in every step": """
        import torch
        def train(model, loader, optimizer):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                for k in range(4):
                    if k == 0:
                        print(loss)  # waits
        """,
    "what follows a check that raises is the rule": """
        import torch
        def train(model, loader, optimizer, total):
            for i, batch in enumerate(loader):
                loss = model(batch)
                loss.backward()
                optimizer.step()
                if i != total:
                    raise ValueError(i)
                print(loss)  # waits
        """,
    "a counter that starts anew is a period": """
        import torch
        def train(model, loader, optimizer, period, times):
            since = last = step = due = shown = bound = 0
            for batch in loader:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                since += 1
                step += 1
                if since >= period:
                    since = 0
                    print(loss)
                if step - last >= period:
                    last = step
                    print(loss)
                if step > due:
                    due += period
                    print(loss)
                if step >= shown:
                    shown = next(times)
                    print(loss)
                if check_freq(period, step):
                    print(loss)
                if step >= bound:
                    bound = loss.item()  # waits
                if loss.item() >= 9:  # waits
                    print(loss)  # waits
        """,
    "what is made for an argument that is left out is made at calls that leave it out": """
        import torch
        def given(lengths, size=None):
            if size is None:
                size = lengths.max()
            return torch.arange(size) < lengths
        def unknown(lengths, max_len=None):
            if max_len is None:
                max_len = torch.max(lengths).item()
            return torch.arange(max_len) < lengths
        def left_out(lengths, max_len=None):
            if max_len is None:
                max_len = torch.max(lengths).item()  # waits
            return torch.arange(max_len) < lengths
        def either(lengths, size=None):
            size = int(lengths.max()) if size is None else size
            return torch.arange(size) < lengths
        def other(lengths, size=None):
            return torch.arange(size if size is not None else lengths.sum().item()) < lengths
        def train(model, loader, optimizer, size):
            for x, lengths in loader:
                lengths = lengths.cuda(non_blocking=True)
                loss = model(x) * given(lengths, x.size(1)) * unknown(lengths, size)
                loss = (loss * left_out(lengths, size) * left_out(lengths)).sum()
                loss = loss * either(lengths, 3).sum() * other(lengths, 3).sum()
                loss.backward()
                optimizer.step()
        """,
    "what moves one of its parts is no array": """
        import torch
        def train(loader, model, optimizer, gpu):
            for i, (images, _) in enumerate(loader):
                images[0] = images[0].cuda(gpu, non_blocking=True)
                images[1] = images[1].cuda(gpu)  # waits
                loss = model(images[0], images[1])
                loss.backward()
                optimizer.step()
        """,
    "where all is asked to be in host memory nothing is on the device": """
        import torch
        class Head:
            def act(self, x):
                action = self.actor(torch.from_numpy(x).to(self.device))  # waits
                if self.device.type == "cpu":
                    return action.numpy()
                return action.cpu().numpy()  # waits
            def learn(self, batch):
                loss = self.assign(batch.cuda())  # waits
                loss.backward()
                self.optimizer.step()
                if self.device != torch.device("cpu"):
                    print(loss)  # waits
            def assign(self, x, mode="gpu"):
                if mode == "cpu":
                    x = x.cpu()
                return self.model(x)
        """,
    "what is joined is in one place, as is what a batch holds that is moved": """
        import torch
        def train(self, data):
            x, y, lengths = data
            x = x.cuda()  # waits
            out = self.model(x)
            ends = torch.cat((torch.zeros(1), torch.cumsum(lengths, dim=0)))
            parts = [y[start:end] for start, end in zip(ends[:-1], ends[1:])]
            loss = self.loss(out, parts)
            loss.backward()
            self.optimizer.step()
        """,
    "what a batch gives by its keys is uploaded, whatever the device is called": """
        import torch
        class Trainer:
            def train_one_step(self, batches):
                for i, batch in enumerate(batches):
                    image = batch.pop("image").to(self.device)  # waits
                    text = batch.get("text").to(self.device)  # waits
                    self.accelerator.backward(self.loss(self.model(image), text))
                self.optimizer.step()
            def train(self):
                for x, y in self.train_loader:
                    x, y = x.to(self.dvc), y.to(self.compute_type)  # waits
                    self.loss(self.model(x), y).backward()
                    self.optimizer.step()
        """,
    "what a module is given is on the device, and a helper's mask is one": """
        import torch
        from torch import nn
        def valid(points):
            return points.sum(), points[..., 0] > 0
        class TokenLoss(nn.Module):
            def forward(self, outputs, targets):
                logits = outputs["logits"][targets["token_mask"]]  # waits
                rows = (torch.arange(3), torch.arange(3))
                chosen = outputs["boxes"][rows]  # waits
                count, mask = valid(torch.sigmoid(logits))
                return chosen, logits[mask]  # waits
        """,
    "one process of many waits all the same": """
        import torch
        def train(model, loader, optimizer, process_idx):
            for batch in loader:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                if process_idx == 0:
                    print(loss)  # waits
        """,
    "a value of Chainer is known by its data": """
        import chainer
        def train(iterator, updater, optimizer, losses):
            for batch in iterator:
                updated = updater(batch)
                optimizer.update()
                losses.append(float(updated.data))  # waits
        """,
    "a summary counts where an array was made before": """
        import tensorflow as tf
        def train_step(model, batch, step):
            with tf.GradientTape() as tape:
                loss = model(batch)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            tf.print(step, loss.numpy())  # waits
            tf.summary.scalar("loss", loss, step=step)  # waits
        """,
    "steps per epoch are no epochs": """
        import tensorflow as tf
        def collect(env, steps_per_epoch, epochs):
            for epoch in range(epochs):
                observation = env.reset()
                for t in range(steps_per_epoch):
                    action = model(observation)
                    observation, reward, done, _ = env.step(action[0].numpy())  # waits
                for _ in range(80):
                    train_step(observation)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        @tf.function
        def train_step(batch):
            optimizer.apply_gradients(zip(model(batch), model.trainable_variables))
        """,
    "a model's own methods, and those that only models have": """
        import numpy as np
        import tensorflow as tf
        class Model(tf.keras.Model):
            def action_value(self, observation):
                return np.squeeze(self.predict_on_batch(observation), axis=-1)  # waits
        class Agent:
            def __init__(self, model):
                self.model = model
                self.model.compile(optimizer="adam")
            def train(self, env, observation, updates):
                for update in range(updates):
                    observation, target = env.step(self.model.action_value(observation))
                    self.model.train_on_batch(observation, target)  # waits
        """,
    "a method tells nothing where two frameworks have it": """
        import tensorflow as tf
        import torch
        def act(fetch):
            return fetch(1).numpy()
        """,
    "what unpacks an array is one, which a list takes as an index": """
        import torch
        def predict(model, loader):
            names = ["cat", "dog"]
            for x, y in loader:
                _, predicted = model(x).max(1)
                print(names[predicted[0]])  # waits
        """,
    "a helper that compares a part of what a model gave waits": """
        import torch
        def count(labels):
            found = 0
            for i in range(3):
                if labels[i] != 0:  # waits
                    found += 1
            return found
        def predict(model, loader):
            for x, y in loader:
                labels = model(x)
                print(count(labels))  # waits
        """,
    "a batch that is copied into a tensor on the device is uploaded": """
        import torch
        def train(model, loader, optimizer, use_cuda):
            held = torch.FloatTensor(1)
            if use_cuda:
                held = held.cuda()
            for x, y in loader:
                held.data.resize_(x.size()).copy_(x)  # waits
                held.data.copy_(x, non_blocking=True)
                model.host_io.ids.copy_(x)
                loss = model(held)
                loss.backward()
                optimizer.step()
        """,
    "what a mask on the device chooses to be written is there": """
        import torch
        class Assigner(torch.nn.Module):
            def forward(self, cost):
                return self.matching(cost, torch.zeros_like(cost) > 0)  # waits
            def matching(self, cost, mask):
                chosen = torch.zeros_like(cost) > 1
                mask[mask.clone()] = chosen  # waits
                return mask
        """,
    "a counter that is set back, and the last of all steps, come seldom": """
        import torch
        def train(model, loader, optimizer, every, total_steps):
            step = seen = 0
            for x, y in loader:
                loss = model(x)
                loss.backward()
                optimizer.step()
                step, seen = step + 1, seen + 1
                if seen >= every or step >= total_steps:
                    seen = seen - every
                    print(loss)
                if step >= total_steps or step % 10 == 0:
                    print(loss)
                if step >= every:
                    print(loss)  # waits
        """,
    "a sum of numbers on the host is one": """
        from mxnet import autograd
        from mxnet.gluon import Trainer
        def train(net, data, trainer, writer):
            total_loss = 0
            for i, batch in enumerate(data):
                with autograd.record():
                    losses = [net(x) for x in batch]
                for each in losses:
                    each.backward()
                trainer.step(1)
                total_loss += sum([each.asnumpy() for each in losses])  # waits
                writer.add_scalar("loss", total_loss, i)
        """,
    "what updates a metric is a module, wherever it is from": """
        import mxnet as mx
        class Agent:
            def train(self, batches, metric):
                for batch in batches:
                    self.engine.forward(batch, is_train=True)
                    self.engine.backward()
                    self.engine.update()
                    self.engine.update_metric(metric, batch.label)  # waits
        """,
    "what goes over iterations of its own is no step of a loop that calls it": """
        import cupy
        def fit(a, b, tol, max_iter):
            r = b - cupy.dot(a, b)
            for i in range(max_iter):
                r = r - cupy.dot(a, r)
                if cupy.linalg.norm(r) < tol:  # waits
                    return r
            return r
        def run(a, tol, max_iter):
            for trial in range(3):
                b = cupy.zeros(3)
                print(fit(a, b, tol, max_iter))
        """,
    "a mask chooses where an array out of sight is written": """
        import torch
        def track(state, renderer, loader):
            for x in loader:
                radius = renderer.radius(x)
                seen = radius > 0
                state["largest"][seen] = torch.max(state["new"], radius)  # waits
        """,
    "what is in host memory is saved without a wait": """
        import torch
        def predict(model, loader):
            for x in loader:
                y = model(x).cpu()  # waits
                torch.save(y, "y.pth")
                torch.save(model(x), "y.pth")  # waits
        """,
    "a scorenet is a model": """
        import torch
        def sample(x, scorenet, count):
            with torch.no_grad():
                for _ in range(count):
                    grad = scorenet(x, 3)
                    x = x + grad
                    print("mean {}".format(grad.abs().mean()))  # waits
        """,
    "what a tree's leaves are made into is where they are": """
        import jax
        import jax.numpy as jnp
        import operator
        def count(params):
            sizes = jax.tree_util.tree_map(jnp.size, params)
            return jax.tree_util.tree_reduce(lambda a, b: a + b, sizes)
        def is_placed(params):
            places = jax.tree.map(lambda x: x.sharding.memory_kind == "device", params)
            return jax.tree.reduce(operator.or_, places)
        def norm(params):
            return jax.tree.reduce(operator.add, jax.tree.map(lambda x: jnp.sum(x * x), params))
        def train(state, loader, update):
            for x, y in loader:
                state, loss = update(state, x, y)
                print(f"{count(state.params):.3f}")
                if is_placed(state.params) and norm(state.params) > 1:  # waits
                    return state
        """,
    "what only reshapes the leaves of a batch leaves it on the host": """
        import jax
        import numpy as np
        def shard(batch):
            return jax.tree_util.tree_map(lambda x: x.reshape((8, -1) + x.shape[1:]), batch)
        def translate(p_pred_step, params, dataset):
            for batch in dataset:
                batch = jax.tree_util.tree_map(lambda x: x._numpy(), batch)
                batch = shard(batch)
                predicted = np.array(p_pred_step(batch["inputs"], params))  # waits
                write(predicted, np.array(batch["inputs"]))
        """,
    "a training loop is many steps, and what is asked for beside NaN is as rare": """
        import jax
        import jax.numpy as jnp
        class Trainer:
            def train_loop(self, state, update, batches, count, step):
                total = 0
                for _ in range(count):
                    state, loss = update(state, next(batches))
                    if loss <= 1e-8 or jnp.isnan(loss):  # waits
                        print(loss)
                    total += loss
                    step += 1
                return total, step, state
            def fit(self, state, batches, count, epochs):
                update = jax.jit(self.update)
                step = self.load()
                while step < count * epochs:
                    print(f"{step // count}")
                    total, step, state = self.train_loop(state, update, batches, count, step)
                    print(total)
        """,
    "what a tree map makes of a dict is known by its keys": """
        import jax
        import numpy as np
        def evaluate(eval_step, state, batches, count):
            for _ in range(count):
                batch = next(batches)
                pack = {"mask": batch["mask"], "text": np.stack(batch["text"])}
                metrics, pack["pred"] = eval_step(state, batch)
                pack = jax.tree_util.tree_map(lambda x: x.reshape((-1, 4)), pack)
                for i, valid in enumerate(pack["mask"]):
                    if valid:
                        print(pack["text"][i])
                        print(int(pack["pred"][i][0]))  # waits
                print(list(pack.values()))  # waits
        """,
    "what a class declares to be an array of JAX's may be one of NumPy's": """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from typing import NamedTuple
        class Batch(NamedTuple):
            x: jnp.ndarray
            lengths: jnp.ndarray
        class Output(NamedTuple):
            embeddings: jnp.ndarray
        def encode(net: "Net", batch) -> jnp.ndarray:
            out: Output = net.encode(batch)
            return out.embeddings
        def save(net, steps: jax.typing.ArrayLike = 5):
            batch: Batch
            for batch in read():
                values = jax.device_get(net.apply(batch.x))  # waits
                for i, length in enumerate(batch.lengths):
                    if length > 3 and i < steps:
                        write(values[i, :length])
                write(np.asarray(encode(net, batch)))  # waits
        """,
    "a branch that drops the state which a step gives evaluates": """
        import jax
        import optax
        @jax.jit
        def update(state, batch):
            loss, grads = jax.value_and_grad(loss_fn)(state.params, batch)
            return state.apply_gradients(grads=grads), {"loss": loss}
        def train(state, batches, valid, every):
            for i in range(1000):
                state, info = update(state, next(batches))
                if i % every == 0 or i == 1:
                    info = jax.device_get(info)
                    _, valid_info = update(state, next(valid))
                    log(info, jax.device_get(valid_info))
        """,
    "metrics of NNX are computed on the device": """
        from flax import nnx
        import optax
        def train(model, train_step, dataset, history):
            optimizer = nnx.Optimizer(model, optax.adam(1e-3))
            metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
            for step, batch in enumerate(dataset.as_numpy_iterator()):
                train_step(model, optimizer, metrics, batch)
                for metric, value in metrics.compute().items():
                    history[metric].append(float(value))  # waits
                print(metrics.compute()["loss"])  # waits
                metrics.reset()
        """,
    "what is looked into for a name or may be an empty dict is no array": """
        import jax
        def update(info, extra=None, **more):
            extra = extra or dict(more)
            known = info or {}
            known.update(extra)
            return known
        def run(env, state, agent, steps, names):
            for _ in range(steps):
                state, out = train_step(state, agent)
                info = out.info
                kept = {name: info[name] for name in names if name in info}
                update(out.extras, out.logs)
                print(out.loss)  # waits
        """,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_what_waits_is_found_and_nothing_else(source: str) -> None:
    text = dedent(source).lstrip()
    expected = {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# waits")}
    assert {f.line for f in check_source(text, "a.py", SETTINGS)} == expected


def test_a_file_has_the_frameworks_of_what_it_imports_everything_from(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "common.py").write_text("import tensorflow as tf\n")
    agent = tmp_path / "pack" / "agent.py"
    agent.write_text(
        "from pack.common import *\n"
        "class Agent:\n"
        "    def get_action(self, state):\n"
        "        return self.actor(state).numpy()\n"
    )
    assert [(f.path, f.line) for f in check_paths([tmp_path], SETTINGS).findings] == [
        (str(agent), 4)
    ]


def test_a_doubtful_call_does_not_hide_the_read_in_a_helper() -> None:
    source = """
        import chainer
        from chainer import cuda
        class Regressor(chainer.Chain):
            def scalar(self, value):
                if isinstance(value, chainer.Variable):
                    value = value.array
                return cuda.to_cpu(value)
            def __call__(self, x):
                return self.scalar(self.part.unknown(x))
    """
    text = dedent(source).lstrip()
    assert [f.line for f in check_source(text, "a.py", SETTINGS)] == [7]


def test_a_compiled_step_in_another_file_makes_its_caller_a_step(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "import tensorflow as tf\n"
        "class Base:\n"
        "    @tf.function\n"
        "    def _update_critic(self, states):\n"
        "        with tf.GradientTape() as tape:\n"
        "            loss = self.critic(states)\n"
        "        gradients = tape.gradient(loss, self.critic.trainable_variables)\n"
        "        self.optimizer.apply_gradients(gradients)\n"
        "        return loss\n"
    )
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import tensorflow as tf\n"
        "from base import Base\n"
        "class Agent(Base):\n"
        "    def train(self, states):\n"
        "        loss = self._update_critic(states)\n"
        "        tf.summary.scalar('loss', loss)\n"
        "        self._update_actor(states)\n"
        "    @tf.function\n"
        "    def _update_actor(self, states):\n"
        "        self.optimizer.apply_gradients(self.actor(states))\n"
    )
    found = check_paths([tmp_path], SETTINGS).findings
    assert [(f.path, f.line) for f in found] == [(str(agent), 6)]


@pytest.mark.parametrize(
    ("made", "frameworks"),
    [
        ("model = tf.keras.Sequential()", ("tensorflow",)),
        ("x = tf.placeholder(tf.float32)", ()),
        ("sess = tf.Session(config=CONFIG)", ()),
        ("sess = tf.Session()\nwith tf.GradientTape() as tape: pass", ("tensorflow",)),
    ],
)
def test_what_is_beside_the_code_of_graphs_gets_arrays_in_host_memory(
    made: str, frameworks: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "runner.py").write_text("import numpy as np\n")
    (tmp_path / "train.py").write_text(f"import tensorflow as tf\nimport runner\n{made}\n")
    paths = [str(tmp_path / name) for name in ("runner.py", "train.py")]
    module = Project(index(paths), knowledge.load()).module("runner", paths[1])
    assert module is not None
    assert module.frameworks == frameworks


@pytest.mark.parametrize(("read", "line"), [("np.array(x)", None), ("x.numpy()", 7)])
def test_numpy_is_given_what_a_session_gives_where_graphs_are_built(
    read: str, line: int | None
) -> None:
    source = f"""
        import numpy as np
        import tensorflow.compat.v1 as tf
        x_ph = tf.placeholder(tf.float32)
        def train(sess, env, op, x):
            while True:
                x = tf.nn.relu(x)
                env.step({read})
        """
    found = check_source(dedent(source).lstrip(), "a.py", SETTINGS)
    assert [f.line for f in found] == ([line] if line else [])


@pytest.mark.parametrize(("layer", "line"), [("Dense(8)", None), ("layer", 6)])
def test_a_layer_that_is_made_in_passing_makes_a_node_of_a_graph(
    layer: str, line: int | None
) -> None:
    source = f"""
        from tensorflow.keras.layers import Dense
        layer = Dense(8)
        def build(x, count):
            for _ in range(count):
                y = {layer}(x)
                print(y)
                x = y
        """
    found = check_source(dedent(source).lstrip(), "a.py", SETTINGS)
    assert [f.line for f in found] == ([line] if line else [])


def test_what_a_data_set_maps_is_traced_and_what_it_gives_is_one() -> None:
    source = """
        import tensorflow as tf
        class Agent:
            def act(self, x):
                return tf.unique(x)
            def train(self, model, rows):
                data = tf.data.Dataset.from_tensor_slices(rows).{}(self.act)
                for x in data:
                    print(model(x))
        """
    for method, lines in (("map", [8]), ("apply", [4, 8])):
        found = check_source(dedent(source.format(method)).lstrip(), "a.py", SETTINGS)
        assert [f.line for f in found] == lines


@pytest.mark.parametrize(("logs", "lines"), [("logs", []), ("values", [5])])
def test_what_a_callback_is_told_are_numbers(logs: str, lines: list[int]) -> None:
    source = f"""
        import tensorflow as tf
        class Finder(tf.keras.callbacks.Callback):
            def on_batch_end(self, batch, {logs}):
                loss = {logs}["loss"]
                if loss > 3:
                    print(loss)
        """
    found = check_source(dedent(source).lstrip(), "a.py", SETTINGS)
    assert [f.line for f in found] == lines


def test_a_file_that_reads_tensors_has_the_framework_of_the_files_beside(tmp_path: Path) -> None:
    model = """
        import tensorflow as tf
        class Model(tf.keras.Model):
            @tf.function
            def train_step(self, batch):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self(batch))
                grads = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
                return loss
        """
    trainer = """
        from model import Model
        class Trainer:
            def __init__(self):
                self.model = Model()
            def train(self, sampler, bar):
                total = 0
                for batch in sampler.step(64):
                    total += self.model.train_step(batch)
                    bar.set_postfix({"loss": f"{total.numpy():.5f}"})
        """
    (tmp_path / "model.py").write_text(dedent(model).lstrip())
    (tmp_path / "trainer.py").write_text(dedent(trainer).lstrip())
    findings = check_paths([tmp_path], SETTINGS).findings
    assert [(Path(f.path).name, f.line) for f in findings] == [("trainer.py", 9)]


def test_what_a_checkpoint_is_given_is_an_attribute_of_it() -> None:
    source = """
        import tensorflow as tf
        def train(step, batches, model, optimizer):
            ckpt = tf.train.Checkpoint(step=tf.Variable(0), model=model)
            while int(ckpt.step) < 1000:
                step(next(batches))
                optimizer.apply_gradients(model)
                if int(ckpt.step) == 999:
                    print(model(next(batches)))
        """
    found = check_source(dedent(source).lstrip(), "a.py", SETTINGS)
    assert [f.line for f in found] == [4, 7]


@pytest.mark.parametrize(
    ("base", "method", "lines"),
    [
        ("Evaluator", "eval_reduce", [4]),
        ("Evaluator", "eval_report", []),
        ("Agent", "policy", [4]),
        ("Schedule", "policy", []),
    ],
)
def test_what_is_called_for_every_step_by_its_name(
    base: str, method: str, lines: list[int]
) -> None:
    source = f"""
        import tensorflow as tf
        class My{base}:
            def {method}(self, state, outputs):
                return tf.reduce_sum(outputs["mode"]).numpy()
        """
    found = check_source(dedent(source).lstrip(), "a.py", SETTINGS)
    assert [f.line for f in found] == lines
