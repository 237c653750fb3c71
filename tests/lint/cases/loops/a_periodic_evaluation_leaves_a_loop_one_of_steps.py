import jax


def evaluate(model, params, loader):
    for batch in loader:
        model.apply(params, batch).block_until_ready()  # ASG201


def train(model, update, params, opt_state, loader, x, num_epochs):
    for epoch in range(num_epochs):
        params, opt_state, loss = update(params, opt_state, x)
        if epoch % 100 == 0:
            evaluate(model, params, loader)
        print(loss)  # ASG101


def evaluate(model, params, loader):
    for batch in loader:
        model.apply(params, batch).block_until_ready()  # ASG201


def train_2(model, update, params, opt_state, loader, x, num_epochs):
    for epoch in range(num_epochs):
        params, opt_state, loss = update(params, opt_state, x)
        evaluate(model, params, loader)
        print(loss)  # clean
