import mxnet as mx
from mxnet import autograd, gluon, np, npx

npx.set_np()


def batches(number=5):
    mx.random.seed(0)
    return [(np.ones((4, 3)) * (n + 1), np.arange(4) % 2) for n in range(number)]


def parts():
    mx.random.seed(1)
    net = gluon.nn.Dense(2)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    return net, trainer, gluon.loss.SoftmaxCrossEntropyLoss()


def fewer_sum(device):
    net, trainer, loss_fn = parts()
    total = 0.0
    for X, y in batches():
        with autograd.record():
            loss = loss_fn(net(X), y).mean()
        loss.backward()
        trainer.step(X.shape[0])
        total += loss.item()
    return round(total, 9)


def fewer_sum_as_float(device):
    net, trainer, loss_fn = parts()
    total = 0.0
    for X, y in batches():
        with autograd.record():
            loss = loss_fn(net(X), y).mean()
        loss.backward()
        trainer.step(X.shape[0])
        total += float(loss)
    return round(total, 9)


def fewer_barrier_in_each_step(device):
    net, trainer, loss_fn = parts()
    for X, y in batches():
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        npx.waitall()
    return float(net.weight.data().sum())


def fewer_reports(device):
    net, trainer, loss_fn = parts()
    for step, (X, y) in enumerate(batches()):
        with autograd.record():
            loss = loss_fn(net(X), y).mean()
        loss.backward()
        trainer.step(X.shape[0])
        print(step, loss.item())
    return float(net.weight.data().sum())


def keeps_sum_that_the_loop_asks_for(device):
    net, trainer, loss_fn = parts()
    total = 0.0
    for X, y in batches():
        with autograd.record():
            loss = loss_fn(net(X), y).mean()
        loss.backward()
        trainer.step(X.shape[0])
        total += loss.item()
        if total > 2:
            break
    return total
