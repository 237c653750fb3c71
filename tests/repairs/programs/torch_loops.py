import torch
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.sum, self.count, self.last = 0, 0, None

    def update(self, value, number=1):
        self.last = value
        self.sum += value * number
        self.count += number


def batches(device, number=5):
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


def hits(logits, y):
    return (logits.argmax(1) == y).sum(), (logits.argmin(1) == y).float().mean().reshape(1)


def fewer_meters_of_one_step(device):
    model, optimizer = parts(device)
    losses, right, wrong = Meter(), Meter(), Meter()
    for x, y in batches(device):
        loss = step(model, optimizer, x, y)
        top, bottom = hits(model(x), y)
        losses.update(loss.item(), x.size(0))
        right.update(top.item(), x.size(0))
        wrong.update(bottom.item(), x.size(0))
    return [(meter.sum, meter.count, meter.last) for meter in (losses, right, wrong)]


def fewer_meters_of_an_empty_loader(device):
    model, optimizer = parts(device)
    losses, right = Meter(), Meter()
    for x, y in batches(device, 0) or batches(device, 1):
        loss = step(model, optimizer, x, y)
        top, _ = hits(model(x), y)
        losses.update(loss.item(), x.size(0))
        right.update(top.item(), x.size(0))
    return losses.sum, right.sum


def keeps_numbers_that_index(device):
    model, optimizer = parts(device)
    names, kept = "abcdefgh", []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        top, bottom = hits(model(x), y)
        kept.append(names[top.item()])
        kept.append(names[int(bottom.item())])
    return kept


def fewer_reads_of_a_table_in_a_loop(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        for i in range(len(y)):
            kept.append(y.tolist()[i] + 1)
    return kept


def fewer_reads_of_a_number_in_nested_loops(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        for i in range(2):
            for j in range(i + 2):
                largest = y.max().item()
                kept.append(largest * i + j)
    return kept


def keeps_a_read_of_what_the_loop_changes(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        for i in range(3):
            y[i] += 1
            kept.append(y.tolist()[i])
    return kept


def keeps_a_read_of_what_an_optimizer_changes(device):
    model, optimizer = parts(device)
    weight = model.weight
    kept = []
    for x, y in batches(device):
        for _ in range(2):
            step(model, optimizer, x, y)
            largest = weight.max().item()
            kept.append(round(largest, 6))
            if largest > 9:
                break
    return kept


def keeps_a_list_that_the_loop_empties(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        for _ in range(2):
            kept.append(y.tolist().pop())
    return kept
