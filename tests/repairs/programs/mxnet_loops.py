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


def fewer_barrier_before_a_note_and_a_read(device):
    net, trainer, loss_fn = parts()
    seen, losses = [], []
    for X, y in batches():
        with autograd.record():
            loss = loss_fn(net(X), y).mean()
        loss.backward()
        trainer.step(X.shape[0])
        npx.waitall()
        seen.append(len(X))
        losses.append(loss.item())
    return seen, [round(loss, 6) for loss in losses]


def narrower_barrier_in_a_branch(device):
    net, trainer, loss_fn = parts()
    kept = []
    for number, (X, y) in enumerate(batches()):
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        if number != 2:
            npx.waitall()
            kept.append(loss)
    return [value.tolist() for value in kept]


def narrower_barrier_in_a_loop_with_an_end(device):
    net, trainer, loss_fn = parts()
    done = False
    for X, y in batches():
        with autograd.record():
            out = net(X)
            loss = loss_fn(out, y)
        loss.backward()
        trainer.step(X.shape[0])
        npx.waitall()
    else:
        done = True
    return done, float(net.weight.data().sum())


def keeps_barrier_where_errors_of_the_update_are_caught(device):
    net, trainer, loss_fn = parts()
    failed = 0
    for X, y in batches():
        try:
            with autograd.record():
                loss = loss_fn(net(X), y)
            loss.backward()
            trainer.step(X.shape[0])
            npx.waitall()
        except mx.MXNetError:
            failed += 1
    return failed


def keeps_barrier_where_the_loss_is_another_in_some_rounds(device):
    net, trainer, loss_fn = parts()
    for number, (X, y) in enumerate(batches()):
        with autograd.record():
            loss = loss_fn(net(X), y)
            if number % 2:
                loss = 0.5 * loss
        loss.backward()
        trainer.step(X.shape[0])
        if number != 2:
            npx.waitall()
    return number


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
