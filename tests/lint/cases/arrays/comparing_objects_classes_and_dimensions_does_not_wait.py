import torch


class Head:
    pass


head = Head()


def check(value, limit):
    seen = value.mean()
    # An object.
    assert seen != head


def train(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check(loss, [loss])  # clean


def check_2(value, limit):
    seen = value.mean()
    # A class.
    assert seen != Head


def train_2(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check_2(loss, [loss])  # clean


def check_3(value, limit):
    seen = value.mean()
    assert seen == torch.distributed.GroupMember.WORLD


def train_3(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check_3(loss, [loss])  # clean


def check_4(value, limit):
    seen = value.mean()
    # A method of arrays, so this is not one.
    assert all(part.dim < 0 for part in limit)


def train_4(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check_4(loss, [loss])  # clean


def check_5(value, limit):
    seen = value.mean()
    assert torch.distributions.biject_to(value).event_dim == limit


def train_5(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check_5(loss, [loss])  # clean


def check_6(value, limit):
    seen = value.mean()
    assert seen == limit  # ASG104


def train_6(model, loader, optimizer, limit):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        check_6(loss, [loss])
