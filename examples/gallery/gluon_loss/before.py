"""Train with gluon on MXNet: `asscalar` reads the loss of each batch."""

from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import autograd, gluon, nd  # noqa: E402

mxnet.random.seed(0)
features = nd.random.normal(shape=(8192, 256))
labels = features[:, :1] * 2 + 1
batches = [(features[at : at + 128], labels[at : at + 128]) for at in range(0, 8192, 128)]
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(512, activation="relu"), gluon.nn.Dense(1))
net.initialize(mxnet.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.001})
loss_function = gluon.loss.L2Loss()

total = 0.0
for x, y in batches:
    with autograd.record():
        loss = loss_function(net(x), y)
    loss.backward()
    trainer.step(len(x))
    total += loss.mean().asscalar()
print(f"mean loss {total / len(batches):.4f}")
