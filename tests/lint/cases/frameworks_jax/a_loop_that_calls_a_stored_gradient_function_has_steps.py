import jax


def fit(loss, descend, params, x, n):
    gradient = jax.value_and_grad(loss)
    for epoch in range(n):
        value, slope = gradient(params, x)
        descend(params, slope)
        print(value)  # ASG101


def fit_2(loss, descend, params, x, n):
    gradient = jax.jit(jax.value_and_grad(loss))
    for epoch in range(n):
        value, slope = gradient(params, x)
        descend(params, slope)
        print(value)  # ASG101
