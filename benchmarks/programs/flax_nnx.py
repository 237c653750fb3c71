"""flax's NNX with optax: a convolutional network trained in compiled steps."""

import jax
import jax.numpy as jnp
import optax
from digest import digest
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.out = nnx.Linear(4 * 64, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.conv(x)))
        return self.out(x.reshape(x.shape[0], -1))


net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def train(net, optimizer, x, y):
    def loss_of(net):
        return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

    loss, gradients = nnx.value_and_grad(loss_of)(net)
    optimizer.update(net, gradients)
    return loss


key = jax.random.key(0)
for at in range(4):
    x = jax.random.normal(jax.random.fold_in(key, at), (4, 8, 8, 1))
    print(float(train(net, optimizer, x, jnp.array([0, 1, 2, 0]))))
print(digest(jax.device_get(jax.tree.leaves(nnx.state(net, nnx.Param)))))
