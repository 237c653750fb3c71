"""mxnet's gluon: a network of its model zoo, trained and evaluated."""

from digest import digest

from asyncguard.compat import mxnet as mx

mx.random.seed(0)
net = mx.gluon.model_zoo.vision.squeezenet1_1(classes=4)
net.initialize(mx.init.Xavier())
trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
loss_of, metric = mx.gluon.loss.SoftmaxCrossEntropyLoss(), mx.metric.Accuracy()
for _ in range(2):
    x, y = mx.nd.random.normal(shape=(2, 3, 224, 224)), mx.nd.array([0, 3])
    with mx.autograd.record():
        out = net(x)
        loss = loss_of(out, y)
    loss.backward()
    trainer.step(2)
    metric.update([y], [out])
    print(loss.asnumpy().tolist(), metric.get())
print(digest(p.data().asnumpy() for p in net.collect_params().values()))
