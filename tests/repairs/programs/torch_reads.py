import logging

import torch
import torch.nn.functional as F

logger = logging.getLogger("asyncguard.test")


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


def fewer_two_reads_of_one_line(device):
    model, optimizer = parts(device)
    best = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        norm = out.norm()
        loss.backward()
        optimizer.step()
        best = max(best, [loss.item(), norm.item()])
    return best


def fewer_two_lines(device):
    model, optimizer = parts(device)
    pairs = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        norm = out.norm()
        loss.backward()
        optimizer.step()
        a = loss.item()
        b = norm.item()
        pairs.append((a, b, a + b))
    return pairs


def fewer_float_and_count(device):
    model, optimizer = parts(device)
    pairs = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        hits = (out.argmax(1) == y).sum()
        loss.backward()
        optimizer.step()
        pairs.append((loss.item(), hits.item()))
    return pairs, [type(number).__name__ for _, number in pairs]


def fewer_mixed_precision(device):
    model, optimizer = parts(device)
    pairs = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        half = out.half().mean()
        wide = out.double().mean()
        loss.backward()
        optimizer.step()
        pairs.append((loss.item(), half.item(), wide.item()))
    return pairs


def fewer_elements_of_one_tensor(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        size = torch.stack([y.max(), y.min(), y.sum()])
        h = size[0].item()
        w = size[1].item()
        found.append(h * 10 + w + size[2].item())
    return found


def fewer_the_same_value_again(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        value = loss.item()
        found.append(value)
        found.append(loss.item() * 2)
    return found


def fewer_read_moves_into_the_report(device):
    model, optimizer = parts(device)
    shown = []
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        value = loss.item()
        if step % 3 == 0:
            shown.append(step)
            shown.append(value)
    return shown


def fewer_reports_with_a_counter(device):
    model, optimizer = parts(device)
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")
    return [p.sum().item() for p in model.parameters()]


def fewer_reports_without_a_counter(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("loss", loss.item())
    return [p.sum().item() for p in model.parameters()]


def fewer_disabled_log(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        logger.debug(f"loss {loss} of {len(x)}")
    return [p.sum().item() for p in model.parameters()]


def fewer_invariant_in_a_comprehension(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        lengths = torch.ones(len(x), dtype=torch.long, device=x.device)
        split = [torch.split(t, lengths.tolist()) for t in (x, y, x)]
        found.append([len(part) for part in split])
    return found


def fewer_rows_read_one_by_one(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        hits = (y > 0).nonzero()
        for hit in hits:
            hit = hit[0]
            if hit == 2:
                continue
            found.append(x[hit].shape[0])
    return found


def fewer_barrier_before_a_read(device):
    model, optimizer = parts(device)
    last = 0.0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        last = max(last, loss.item())
    return last


def fewer_barrier_in_each_step(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    return [p.sum().item() for p in model.parameters()]


def keeps_conditional_read(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        norm = x.norm()
        loss.backward()
        optimizer.step()
        found.append(loss.item() if len(x) > 5 else norm.item())
    return found


def keeps_parameter_read_around_the_update(device):
    model, optimizer = parts(device)
    weight = model.weight.detach()
    found = []
    for x, y in batches(device):
        first = weight.mean().item()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        second = weight.mean().item()
        found.append(second - first)
    return found


def keeps_barrier_of_a_side_stream(device):
    model, optimizer = parts(device)
    stream = torch.cuda.Stream()
    for x, y in batches(device):
        with torch.cuda.stream(stream):
            loss = F.cross_entropy(model(x), y)
        torch.cuda.synchronize()
        loss.backward()
        optimizer.step()
    return [p.sum().item() for p in model.parameters()]


def keeps_rows_used_as_tensors(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        for hit in (y > 0).nonzero():
            if hit == 2:
                continue
            found.append(hit.shape)
    return found


def keeps_gradient_that_is_reset_before_the_report(device):
    model, optimizer = parts(device)
    shown = []
    for step, (x, y) in enumerate(batches(device)):
        F.cross_entropy(model(x), y).backward()
        norm = model.weight.grad.norm().item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        if step % 3 == 0:
            shown.append(norm)
    return shown


def keeps_parameter_that_the_update_changes(device):
    model, optimizer = parts(device)
    shown = []
    for step, (x, y) in enumerate(batches(device)):
        F.cross_entropy(model(x), y).backward()
        weight = model.weight.view(-1)
        first = weight.sum().item()
        optimizer.step()
        if step % 3 == 0:
            shown.append(first)
    return shown


def fewer_values_that_a_function_may_write_to_again(device):
    model, optimizer = parts(device)
    shared = torch.zeros((), device=device)

    def measured(value):
        return shared.copy_(value)

    history = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        latest_loss = measured(loss.detach())
        history.append(latest_loss.item())
    return history


class Tracker:
    def __init__(self):
        self.seen = {}

    def track(self, name, value):
        self.seen.setdefault(name, []).append(value)


def fewer_reads_that_a_method_notes(device):
    model, optimizer = parts(device)
    tracker = Tracker()
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.track("loss", loss.item())
        tracker.track("output (max)", torch.max(out).item())
        tracker.track("output (min)", torch.min(out).item())

        tracker.track(f"output {1}", torch.mean(out).item())
    return tracker.seen


def keeps_reads_around_a_call_that_is_given_a_tensor(device):
    model, optimizer = parts(device)
    tracker = Tracker()

    def halve(name, value, tensor):
        tracker.track(name, value)
        tensor.data *= 0.5

    for x, y in batches(device):
        out = model(x)
        halve("before", out.sum().item(), out)
        tracker.track("after", out.sum().item())
    return tracker.seen


def keeps_reads_around_a_method_of_what_is_read(device):
    class Model:
        def __init__(self):
            self.scale = torch.ones((), device=device)
            self.seen = []

        def note(self, name, value):
            self.seen.append(value)
            self.scale = self.scale * 2

        def run(self):
            for _ in range(3):
                self.note("a", self.scale.item())
                self.note("b", self.scale.item())
            return self.seen

    return Model().run()


def keeps_reads_where_the_module_has_another_meaning(device):
    def train(torch, model, optimizer):
        pairs = []
        for x, y in batches(device):
            out = model(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            optimizer.step()
            a, b = loss.item(), out.norm().item()
            pairs.append((a, b))
        return pairs

    return train(None, *parts(device))
