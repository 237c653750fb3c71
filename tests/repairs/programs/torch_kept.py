import torch
import torch.nn.functional as F


def batches(device, number=6):
    torch.manual_seed(0)
    return [
        (torch.randn(5 + n % 2, 4, device=device), torch.randint(0, 3, (5 + n % 2,), device=device))
        for n in range(number)
    ]


def parts(device):
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 3).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def step(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def fewer_values_of_a_buffer_that_is_called_a_loss(device):
    model, optimizer = parts(device)
    shared = torch.zeros((), device=device)

    def criterion(out, y):
        return shared.copy_(F.cross_entropy(out, y).detach())

    history = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        loss = criterion(model(x), y)
        history.append(loss.item())
    return history


def fewer_values_that_another_name_writes_to(device):
    model, optimizer = parts(device)
    history = []
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        norm = x.norm()
        history.append(norm.item())
        scaled = norm.detach()
        scaled *= 2
    return history, loss.item()


def fewer_values_of_one_element_by_an_own_criterion(device):
    model, optimizer = parts(device)

    def loss_fn(out, y):
        return F.cross_entropy(out, y).reshape(1)

    history = []
    for x, y in batches(device):
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


def fewer_values_by_a_criterion_that_is_not_reduced(device):
    model, optimizer = parts(device)
    criterion = torch.nn.CrossEntropyLoss(reduction="none")
    history = []
    for x, y in batches(device):
        loss = criterion(model(x[:1]), y[:1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


def keeps_values_that_are_numbers_in_some_steps(device):
    model, optimizer = parts(device)
    history = []
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y) if number % 2 else 0.0
        history.append(float(loss))
    return history


def fewer_counts_that_are_kept_as_floats(device):
    model, optimizer = parts(device)
    history = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        hits = (model(x).argmax(1) == y).sum()
        history.append(float(hits))
    return history, {type(number).__name__ for number in history}


def fewer_rows_that_are_numbers(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        hits = (y > 0).nonzero()
        for hit in hits:
            if hit == 2:
                continue
            found.append(int(hit))
    return found


def keeps_rows_that_are_numbers_and_taken_apart(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        for hit in (y > 0).nonzero():
            if hit == 2:
                continue
            found.append(int(hit[0]))
    return found


def keeps_sums_with_what_is_no_number(device):
    model, optimizer = parts(device)
    total, weights = 0.0, torch.ones(2)
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        total = total + loss.item() * weights
    return total.tolist()


def keeps_sums_with_an_attribute_that_may_be_no_number(device):
    class Options:
        weight = 2

    model, optimizer = parts(device)
    total, options = 0.0, Options()
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        total += loss.item() * options.weight
    return total


def keeps_sums_that_a_hook_sees(device):
    class Trainer:
        def __init__(self):
            self.model, self.optimizer = parts(device)
            self.total, self.seen = 0.0, []
            self.model.register_forward_hook(self.hook)

        def hook(self, *_):
            self.seen.append(self.total)

        def fit(self):
            self.total = 0.0
            for x, y in batches(device):
                loss = step(self.model, self.optimizer, x, y)
                self.total += loss.item()
            return self.total, self.seen

    return Trainer().fit()


def keeps_sums_that_a_callback_is_given(device):
    class Trainer:
        def __init__(self, callback):
            self.callback, self.total = callback, 0.0

        def fit(self):
            model, optimizer = parts(device)
            self.total = 0.0
            for x, y in batches(device):
                loss = step(model, optimizer, x, y)
                self.total += loss.item()
                self.callback(trainer=self)
            return self.total

    seen = []
    return Trainer(lambda trainer: seen.append(trainer.total)).fit(), seen


def fewer_sums_of_an_object_that_nobody_else_knows(device):
    class Trainer:
        def fit(self):
            model, optimizer = parts(device)
            self.total = 0.0
            for x, y in batches(device):
                loss = step(model, optimizer, x, y)
                self.total += loss.item()
            return self.total

    return Trainer().fit()


def keeps_sums_of_a_dictionary_that_others_know(device):
    model, optimizer = parts(device)
    metrics, known = {"loss": 0.0}, []
    known.append(metrics)
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        metrics["loss"] += loss.item()
    return known


def keeps_named_reads_that_a_report_of_every_second_step_needs(device):
    model, optimizer = parts(device)
    total, shown = 0.0, []
    for number, (x, y) in enumerate(batches(device, 7)):
        loss = step(model, optimizer, x, y)
        value = loss.item()
        total += value
        if number % 2 == 0:
            shown.append((value, total))
    return shown


def fewer_sums_where_no_graph_is_kept(device):
    model, _ = parts(device)
    total = 0.0
    with torch.no_grad():
        for x, y in batches(device):
            loss = F.cross_entropy(model(x), y)
            total += loss.item()
    return total
