"""Plain forms of training loops, as a reviewer of repairs expects them."""

import torch
import torch.nn.functional as F


class AverageMeter:
    """A meter as it stands in many training scripts."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


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
    out = model(x)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return out.detach(), loss


def accuracy(out, y):
    return (out.argmax(1) == y).float().mean()


def fewer_named_reads_in_one_expression(device):
    model, optimizer = parts(device)
    scores = []
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        right = accuracy(out, y)
        a = loss.item()
        b = right.item()
        score = 0.5 * a + 0.5 * b
        scores.append(score)
    return scores


def fewer_annotated_reads_that_are_added_up(device):
    model, optimizer = parts(device)
    total: float = 0.0
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        batch_loss: float = loss.item()
        total += batch_loss
    return total


def fewer_seven_reads_of_a_dictionary(device):
    model, optimizer = parts(device)
    history = []
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        history.append({
            "loss": loss.item(),
            "mean": out.mean().item(),
            "std": out.std().item(),
            "max": out.max().item(),
            "min": out.min().item(),
            "norm": out.norm().item(),
            "hits": (out.argmax(1) == y).sum().item(),
        })  # fmt: skip
    return history, [type(number).__name__ for number in history[0].values()]


def fewer_two_reads_of_one_sum(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        penalty = out.square().mean()
        total += loss.item() + 0.1 * penalty.item()
    return total


def fewer_lists_that_every_third_step_looks_at(device):
    model, optimizer = parts(device)
    losses, shown = [], []
    for number, (x, y) in enumerate(batches(device)):
        out, loss = step(model, optimizer, x, y)
        losses.append(loss.item())
        if number % 3 == 2:
            shown.append(sum(losses[-3:]) / 3)
    return losses, shown


def fewer_meters_in_view(device):
    model, optimizer = parts(device)
    losses, rights = AverageMeter(), AverageMeter()
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        losses.update(loss.item(), x.size(0))
        rights.update(accuracy(out, y).item(), x.size(0))
    return losses.avg, rights.avg, losses.count


def fewer_largest_of_all_steps(device):
    model, optimizer = parts(device)
    best = 0.0
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        best = max(best, loss.item())
    return best


def fewer_smallest_of_all_steps(device):
    model, optimizer = parts(device)
    best = float("inf")
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        best = min(loss.item(), best)
    return best


def fewer_reads_that_no_round_changes(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        for number in range(3):
            found.append(number / x.abs().max().item())
    return found


def fewer_masks_that_are_only_summed(device):
    model, optimizer = parts(device)
    total = 0.0
    for x, y in batches(device):
        out, loss = step(model, optimizer, x, y)
        mask = y > 0
        total += out[mask].sum().item() / len(y)
    return total


def fewer_reads_for_two_meters_and_a_bar(device):
    model, optimizer = parts(device)
    losses = AverageMeter()
    shown = []
    for number, (x, y) in enumerate(batches(device, 9)):
        out, loss = step(model, optimizer, x, y)
        losses.update(loss.item(), len(x))
        if number % 8 == 0:
            shown.append(f"{losses.val:.4f} ({losses.avg:.4f})")
    return shown


def fewer_named_reads_for_a_report(device):
    model, optimizer = parts(device)
    for number, (x, y) in enumerate(batches(device)):
        out, loss = step(model, optimizer, x, y)
        value = loss.item()
        print(f"step {number}: {value:.4f}")
    return model.weight.sum().item()
