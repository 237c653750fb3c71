import torch


def train(model, optim, reader, device="cuda"):
    model = model.to(device)
    for batch in reader:
        try:
            queries, passages, target = batch
            inputs = [queries, passages]
        except ValueError:
            encoding, target = batch
            inputs = [encoding.to(device)]  # ASG106
        loss = model(*inputs).mean()
        loss.backward()
        optim.step()


def train_safely(model, optim, reader, device="cuda"):
    model = model.to(device)
    for batch in reader:
        try:
            queries, passages = batch
            loss = model(queries, passages).mean()
        except ValueError:
            queries, passages = batch
            loss = model(queries.to(device)).mean()  # clean
        loss.backward()
        optim.step()
