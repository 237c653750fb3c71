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


def fewer_sum(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def fewer_sum_weighted_by_a_last_partial_batch(device):
    model, optimizer = parts(device)
    total, seen = 0.0, 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
        seen += x.size(0)
    return total / seen


def fewer_several_sums_and_a_count(device):
    model, optimizer = parts(device)
    total, correct, seen = 0.0, 0, 0
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        correct += (out.argmax(1) == y).sum().item()
        seen += len(y)
    return total, correct, type(correct).__name__, correct / seen


def fewer_break(device):
    model, optimizer = parts(device)
    total = 0.0
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step == 3:
            break
    return total


def fewer_continue(device):
    model, optimizer = parts(device)
    total = 0.0
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 2:
            continue
        total += loss.item()
    return total


def fewer_nested_loops(device):
    model, optimizer = parts(device)
    totals = []
    for epoch in range(2):
        total = 0.0
        for x, y in batches(device):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        totals.append(total)
    return totals


def fewer_sum_over_epochs(device):
    model, optimizer = parts(device)
    total = 0.0
    for epoch in range(2):
        for x, y in batches(device):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total


def fewer_periodic_report(device):
    model, optimizer = parts(device)
    running, reports = 0.0, []
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 3 == 2:
            reports.append(running / 3)
            running = 0.0
    return reports, running


def fewer_half_precision(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device, 40):
        loss = F.cross_entropy(model(x), y).to(torch.bfloat16)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += 100 * loss.item()
    return total


def fewer_moving_average(device):
    model, optimizer = parts(device)
    average = 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average = 0.9 * average + 0.1 * loss.item()
    return average


def fewer_running_mean(device):
    model, optimizer = parts(device)
    mean = 0.0
    for step, (x, y) in enumerate(batches(device), 1):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += (loss.item() - mean) / step
    return mean


def fewer_dictionary_of_metrics(device):
    model, optimizer = parts(device)
    metrics = {"loss": 0.0, "hits": 0}
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics["loss"] += loss.item()
        metrics["hits"] += (out.argmax(dim=1) == y).sum().item()
    return metrics


def fewer_in_a_closure_of_its_own(device):
    model, optimizer = parts(device)

    def epoch():
        total = 0.0
        for x, y in batches(device):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss)
        return total

    return [epoch(), epoch()]


def fewer_empty_loader(device):
    model, optimizer = parts(device)
    total, one = 0.0, 0.0
    for x, y in batches(device, 0):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    for x, y in batches(device, 3):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        one += loss.item()
    return total, one


def fewer_two_terms_of_one_sum(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        penalty = out.square().mean()
        (loss + penalty).backward()
        optimizer.step()
        total += loss.item()
        total += penalty.item()
    return total


def fewer_list(device):
    model, optimizer = parts(device)
    losses = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fewer_list_over_epochs(device):
    model, optimizer = parts(device)
    losses, hits = [], []
    for epoch in range(2):
        for x, y in batches(device):
            out = model(x)
            loss = F.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hits.append((out.argmax(1) == y).sum().item())
    return losses, hits, [type(hit).__name__ for hit in hits]


def fewer_list_of_an_empty_loader(device):
    model, optimizer = parts(device)
    losses = []
    kept = []
    for number in (0, 4):
        losses = []
        for x, y in batches(device, number):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        kept.append(losses)
    return kept


def fewer_value_of_one_element(device):
    model, optimizer = parts(device)
    losses = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y).reshape(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def keeps_sum_that_the_loop_asks_for(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if total > 3:
            break
    return total


def keeps_sum_of_a_closure(device):
    model, optimizer = parts(device)
    total, seen = 0.0, []

    def note():
        seen.append(total)

    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        note()
    return total, seen


def keeps_alias_of_a_list(device):
    model, optimizer = parts(device)
    losses = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        last = losses
    return last


def keeps_sum_in_a_swallowed_exception(device):
    model, optimizer = parts(device)
    total = 0.0
    try:
        for step, (x, y) in enumerate(batches(device)):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            if step == 3:
                raise KeyError(step)
    except KeyError:
        pass
    return total, type(total).__name__


def keeps_early_return(device):
    model, optimizer = parts(device)
    total = 0.0
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step == 3:
            return total, "early"
    return total


def fewer_values_written_in_place(device):
    model, optimizer = parts(device)
    state = torch.zeros((), device=device)
    history = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        state += loss.detach()
        history.append(state.item())
    return history


def keeps_kind_that_nothing_tells(device):
    model, optimizer = parts(device)
    total = 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        score = torch.bincount(y, minlength=3)[0]
        total += score.item()
    return total, type(total).__name__


def keeps_variables_seen_by_name(device):
    model, optimizer = parts(device)
    total = 0.0
    seen = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        seen.append(type(locals()["total"]).__name__)
    return total, seen


class Bar:
    def set_postfix(self, **shown):
        self.shown = shown


def fewer_sum_in_the_report_of_each_step(device):
    model, optimizer = parts(device)
    total, progress_bar = 0.0, Bar()
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        progress_bar.set_postfix(loss=total / (step + 1))
    return total


def fewer_two_sums_in_one_report(device):
    model, optimizer = parts(device)
    total, hits, progress_bar = 0.0, 0, Bar()
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        hits += (out.argmax(1) == y).sum().item()
        progress_bar.set_postfix(loss=total, hits=hits)
    return total, hits, type(hits).__name__


def fewer_sum_of_what_nothing_tells_but_its_start(device):
    def score(out, y):
        return (out.argmax(1) == y).sum() / len(y)

    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        reached = score(model(x), y)
        total += reached.item()
    return total


def fewer_sum_in_an_empty_loop_with_a_report(device):
    model, optimizer = parts(device)
    total, progress_bar = 0.0, Bar()
    for data in (batches(device, 0), batches(device, 3)):
        for step, (x, y) in enumerate(data):
            loss = F.cross_entropy(model(x), y)
            total += loss.item()
            progress_bar.set_postfix(loss=total / (step + 1))
    return total


def fewer_sum_of_a_read_with_a_name(device):
    model, optimizer = parts(device)
    total, seen = 0, 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss = loss.item()
        train_loss *= len(x)
        total += train_loss
        seen += len(x)
    return total / seen


def fewer_named_reads_with_a_report_and_a_count(device):
    model, optimizer = parts(device)
    total, correct, reports = 0.0, 0, []
    for step, (x, y) in enumerate(batches(device)):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        hits = (out.argmax(1) == y).sum().item()
        total += value
        correct += hits
        if step % 3 == 0:
            reports.append((value, hits, total))
    return total, correct, type(correct).__name__, reports


def keeps_named_read_that_the_loop_asks_for(device):
    model, optimizer = parts(device)
    total, best = 0.0, 1e9
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        value = loss.item()
        total += value
        best = min(best, value)
    return total, best


def keeps_named_read_of_the_last_step(device):
    model, optimizer = parts(device)
    total, value = 0.0, 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        value = loss.item()
        total += value
    return total, value


def keeps_sum_where_float_has_another_meaning(device):
    float = str
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total, float(3)


def fewer_sum_of_a_scaled_double_that_is_used_again(device):
    model, optimizer = parts(device)
    total, others = 0.0, []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x).double(), y)
        loss.backward()
        optimizer.step()
        value = loss.item()
        value *= len(x)
        total += value
        others.append((loss * 2).detach())
    return total, [other.item() for other in others]


def keeps_count_that_is_scaled(device):
    model, optimizer = parts(device)
    total = 0
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        hits = (out.argmax(1) == y).sum().item()
        hits *= 0.5
        total += hits
    return total


def fewer_counts_by_the_size_of_a_batch(device):
    model, optimizer = parts(device)
    share, scaled, weighted, weight = 0, 0, 0, 3
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        share += (out.argmax(1) == y).sum().item() / y.size(0)
        scaled += (y == 1).sum().item() * 0.5
        weighted += (y == 2).sum().item() * weight
    return share, scaled, weighted, type(weighted).__name__


def fewer_small_integers(device):
    model, optimizer = parts(device)
    best, least, total = 0, 0, 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        best += (y.to(torch.uint8) * 100).max().item()
        least += y.to(torch.int8).max().item() * 100
        most = y.to(torch.int16).max() * 9000
        total += most.item()
    return best, least, total, type(best).__name__


def keeps_count_times_what_nobody_knows(device, weight=0.5):
    model, optimizer = parts(device)
    right = 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (y == 1).sum().item() * weight
    return right


def fewer_share_under_a_name(device):
    model, optimizer = parts(device)
    share, count = 0.0, 0
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = (out.argmax(1) == y).sum().item()
        share += right / len(y)
        found = (y == 1).sum().item()
        count += found
    return share, count
