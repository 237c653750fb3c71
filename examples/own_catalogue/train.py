import acme


def train(model, batches):
    for batch in acme.data.stream(batches):
        loss = acme.contrastive(model(batch))
        acme.train.update(model, loss)
        acme.fetch(loss)
