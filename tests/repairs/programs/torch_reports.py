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


class Bar:
    def __init__(self):
        self.shown = []

    def set_postfix(self, **shown):
        self.shown.append(shown)


def fewer_reports_of_pairs_of_pairs(device):
    model, optimizer = parts(device)
    for (x, y), (z, w) in zip(batches(device), batches(device)):
        loss = step(model, optimizer, x + z, torch.maximum(y, w))
        print("loss", loss.item())
    return model.weight.sum().item()


def fewer_reports_of_some_batches(device):
    model, optimizer = parts(device)
    first, *others = batches(device)
    for x, y in first, *others:
        loss = step(model, optimizer, x, y)
        print("loss", loss.item())
    return model.weight.sum().item()


def fewer_reports_with_a_period_that_is_set_below(device):
    model, optimizer = parts(device)
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        print("loss", loss.item())
        every = 2 if number > 3 else 3
        if number % every == 0:
            print("so far", number)
    return model.weight.sum().item()


def fewer_reports_of_a_loop_that_counts_from_one(device):
    model, optimizer = parts(device)
    progress_bar = Bar()
    for number, (x, y) in enumerate(batches(device), 1):
        loss = step(model, optimizer, x, y)
        progress_bar.set_postfix(loss=loss.item())
    return len(progress_bar.shown) > 0


def fewer_reports_beside_a_branch_that_goes_on(device):
    model, optimizer = parts(device)
    progress_bar = Bar()
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        progress_bar.set_postfix(loss=loss.item())
        if number % 4 != 3:
            continue
        optimizer.zero_grad()
    return len(progress_bar.shown) > 0


def keeps_reports_behind_a_branch_that_goes_on(device):
    model, optimizer = parts(device)
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        if number % 4 != 3:
            continue
        print("loss", loss.item())
    return model.weight.sum().item()


def keeps_reports_of_a_few_rounds(device):
    model, optimizer = parts(device)
    x, y = batches(device)[0]
    rounds = 4
    for number in range(rounds):
        loss = step(model, optimizer, x, y)
        print("loss", loss.item())
    return model.weight.sum().item()


def fewer_reports_of_what_the_round_reads_as_well(device):
    model, optimizer = parts(device)
    best = 9.0
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        value = loss.item()
        if value < best:
            best = value
        print("loss", loss.item(), \
            "best", best)
    return best


def keeps_a_report_with_a_continued_text(device):
    model, optimizer = parts(device)
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        print("a loss \
            of", loss.item())
    return model.weight.sum().item()


def fewer_two_reports_in_a_row(device):
    model, optimizer = parts(device)
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        if number % 3 == 0:
            print("so far", number)
        print("loss", loss.item())
        print("norm", x.norm().item())
    return model.weight.sum().item()


def fewer_reads_with_a_name_for_a_report(device):
    model, optimizer = parts(device)
    progress_bar = Bar()
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        value = loss.item()  # as a number
        progress_bar.set_postfix(loss=value)
    return len(progress_bar.shown) > 0


def keeps_a_read_that_is_shown_after_its_value_was_handed_out(device):
    def train():
        model, optimizer = parts(device)
        for number, (x, y) in enumerate(batches(device)):
            loss = F.cross_entropy(model(x), y)
            value = loss.item()
            yield loss
            if number % 3 == 0:
                print("loss", value)

    for loss in train():
        loss.detach().zero_()


def keeps_a_read_of_what_is_written_to_by_another_name(device):
    model, optimizer = parts(device)
    shown = []
    for number, (x, y) in enumerate(batches(device)):
        loss = step(model, optimizer, x, y)
        value = loss.item()
        other = loss.detach()
        other.mul_(0)
        if number % 3 == 0:
            shown.append(value)
    return shown


def fewer_checks_for_nan_that_note_what_happened(device):
    model, optimizer = parts(device)
    diverged = False
    for number, (x, y) in enumerate(batches(device, 5)):
        loss = step(model, optimizer, x, y)
        if number == 3:
            loss = loss * float("nan")
        if torch.isnan(loss):
            diverged = True
            break
    return diverged


def fewer_checks_for_nan_that_raise(device):
    def train(model, optimizer):
        for number, (x, y) in enumerate(batches(device, 5)):
            loss = step(model, optimizer, x, y)
            if number == 3:
                loss = loss * float("inf")
            if not torch.isfinite(loss):
                # nothing to be done
                raise ValueError("diverged")

    try:
        train(*parts(device))
    except ValueError as error:
        return str(error)


def keeps_checks_for_nan_that_nobody_may_ask(device):
    model, optimizer = parts(device)
    for x, y in batches(device, 5):
        loss = step(model, optimizer, x, y)
        if torch.isnan(loss):
            break
        if x.shape[0] == 6:
            return "early"
    return "late"
