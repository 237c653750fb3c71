from mxnet import autograd, gluon, np, npx


def train(net, loader, trainer):
    for x, y in loader:  # clean
        with autograd.record():
            loss = net(x)
        loss.backward()
        trainer.step(1)
        wait_for_all_of_it()


def train_on(net, loader, trainer):
    for x, y in loader:  # ASG401
        with autograd.record():
            loss = net(x)
        loss.backward()
        trainer.step(1)
        note_all_of_it()
