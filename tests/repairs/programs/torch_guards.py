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


def fewer_guard_of_a_masked_write(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        values = out.detach().clone()
        large = values > 1.5
        if large.any():
            values[large] = 0.5  # as large as it gets
        if torch.any(large):
            values[large] = -0.5
        kept.append(values.double().sum())
    return [value.item() for value in kept]


def fewer_mean_of_what_may_be_nothing(device):
    model, optimizer = parts(device)
    losses = []
    for x, y in batches(device):
        losses_of_all = F.cross_entropy(model(x), y, reduction="none")
        hard = losses_of_all > 1.2
        loss = losses_of_all[hard].mean() if hard.any() else 0.0
        losses.append(loss + losses_of_all.mean() * 0.1)
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    return [round(float(loss), 5) for loss in losses]


def fewer_norm_of_gradients(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        loss = F.cross_entropy(10 * model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.sqrt(sum(torch.sum(p.grad**2) for p in model.parameters()))
        if norm > 1:
            for param in model.parameters():
                param.grad[:] *= 1 / norm
        optimizer.step()
    return [round(p.double().sum().item(), 6) for p in model.parameters()]


def fewer_check_for_nan_that_breaks(device):
    model, optimizer = parts(device)
    seen = 0
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        if torch.isnan(loss):
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
    return seen, [round(p.double().sum().item(), 6) for p in model.parameters()]


def fewer_check_for_nan_that_raises_behind_the_loop_at_last(device):
    def train():
        model, optimizer = parts(device)
        for step, (x, y) in enumerate(batches(device)):
            loss = F.cross_entropy(model(x * (1 if step != 4 else float("nan"))), y)
            if not torch.isfinite(loss):
                print("no number")
                raise ArithmeticError("the loss is no number")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    try:
        train()
    except ArithmeticError as error:
        return str(error)
    return ""


def keeps_a_guard_of_more_than_a_write(device):
    model, optimizer = parts(device)
    seen = 0
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        large = out > 1.5
        if large.any():
            seen += 1
    return seen


def keeps_a_guard_of_another_mask(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        values = out.detach().clone()
        large, small = values > 1.5, values < -1.5
        if large.any():
            values[small] = 0.5
        kept.append(values.double().sum())
    return [value.item() for value in kept]


def keeps_a_check_that_goes_on(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        if torch.isnan(loss):
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [round(p.double().sum().item(), 6) for p in model.parameters()]
