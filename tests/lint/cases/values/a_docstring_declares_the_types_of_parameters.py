import torch


def choose(rows, x):
    """Choose.

    rows : list
        Which.
    x : torch.Tensor, optional
        What.
    """
    return x[rows]  # ASG106


def train(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose(rows, model.kept)


def choose_2(rows, x):
    """Choose.

    rows : list
        Which.
    x : int, optional
        What.
    """
    return x[rows]  # clean


def train_2(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose_2(rows, model.kept)


def choose_3(rows, x):
    """Choose.

    rows (list): Which.
    x (`torch.Tensor` of shape `(n)`): What.
    """
    return x[rows]  # ASG106


def train_3(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose_3(rows, model.kept)


def choose_4(rows, x):
    """Choose.

    rows (list): Which.
    x (`int` of shape `(n)`): What.
    """
    return x[rows]  # clean


def train_4(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose_4(rows, model.kept)


def choose_5(rows, x):
    """Choose.

    :type rows: list
    :type x: Tensor
    :param x: What.
    """
    return x[rows]  # ASG106


def train_5(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose_5(rows, model.kept)


def choose_6(rows, x):
    """Choose.

    :type rows: list
    :type x: int
    :param x: What.
    """
    return x[rows]  # clean


def train_6(model, loader, rows):
    for batch in loader:
        model(batch).sum().backward()
        choose_6(rows, model.kept)
