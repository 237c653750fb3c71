import time

import numpy as np
import torch
import torch.nn.functional as F


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


def shown_two_arrays(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores = out.softmax(1).detach().cpu().numpy()
        labels = y.cpu().numpy()
        found.append((float(scores.sum()), labels.tolist()))
    return found


def shown_two_arrays_of_one_line(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        found.append(np.column_stack([out.detach().cpu().numpy()[:, 0], y.cpu().numpy()]).tolist())
    return found


def shown_list_of_arrays(device):
    model, optimizer = parts(device)
    outputs, labels = [], []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        outputs.append(out.detach().cpu().numpy())
        labels.append(y.detach().cpu())
    return np.concatenate(outputs).tolist(), torch.cat(labels).tolist()


def shown_list_of_rows_of_an_empty_loader(device):
    model, optimizer = parts(device)
    rows = []
    for x, y in batches(device, 0) + batches(device, 2)[:1] + batches(device, 1):
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        rows.extend(y.cpu())
        if len(y) > 5:
            break
    return [row.tolist() for row in rows]


def keeps_copies_that_the_loop_looks_at(device):
    model, optimizer = parts(device)
    outputs = []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        outputs.append(out.detach().cpu().numpy().copy())
    return np.concatenate(outputs).tolist()


def keeps_a_copy_of_what_the_other_is_made_of(device):
    model, optimizer = parts(device)
    found = []
    for x, y in batches(device):
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        out = out.detach()
        first = out.cpu()
        out += 1
        found.append((first.sum().item(), out.cpu().sum().item()))
    return found


def shown_timer_of_each_step(device):
    model, optimizer = parts(device)
    seconds, steps = 0.0, 0
    for x, y in batches(device):
        torch.cuda.synchronize()
        start = time.perf_counter()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        seconds += time.perf_counter() - start
        steps += 1
    return steps, seconds > 0


def shown_list_of_times(device):
    model, optimizer = parts(device)
    times = []
    for x, y in batches(device):
        start = time.time()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.time() - start)
    return len(times), min(times) > 0


def keeps_times_that_the_loop_shows(device):
    model, optimizer = parts(device)
    seconds = 0.0
    for x, y in batches(device):
        start = time.time()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        torch.cuda.synchronize()
        seconds += time.time() - start
        print("so far", seconds)
    return round(model.weight.double().sum().item(), 6)
