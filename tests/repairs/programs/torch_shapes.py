import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


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


def total(values):
    return [round(value.double().sum().item(), 9) for value in values]


def fewer_two_gathers_of_one_mask(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        keep = y > 0
        out, target = model(x)[keep], y[keep]
        loss = F.cross_entropy(out, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def fewer_masks_by_expression(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores = x.sum(1)
        label = y[scores > 0]
        row = x[scores > 0, :]
        kept += [label, row]
    return total(kept)


def fewer_masked_assignment(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bad = x > 1
        clean = x.clone()
        other = x * 0.5
        clean[bad] = other[bad]
        kept.append(clean)
    return total(kept)


def fewer_choice_by_a_comparison(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        low = x * 0.5
        high = x * 2
        high[low < 0] = low[low < 0]
        kept.append(high)
    return total(kept)


def fewer_masked_sum(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values = x.sum(1)
        kept.append(values[values > 0].sum())
    return total(kept)


def fewer_masked_mean_with_gradient(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        each = F.cross_entropy(model(x), y, reduction="none")
        loss = each[each > 0.5].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return [round(value, 5) for value in total(kept)]


def fewer_number_of_elements(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values = x.sum(1)
        kept.append(values.norm() / len(values[values > 0]))
    return [round(value, 5) for value in total(kept)]


def fewer_repeats_from_a_list(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths = [row % 3 for row in range(len(x))]
        repeats = torch.tensor(lengths, device=device)
        kept.append(torch.repeat_interleave(x, repeats, dim=0))
    return total(kept)


def fewer_one_hot(device):
    model, optimizer = parts(device)
    num_classes = 3
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(F.one_hot(y))
    return total(kept), num_classes


def fewer_constants(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        zero = torch.tensor(0.0, device=device)
        most = torch.tensor(255, dtype=x.dtype, device=x.device)
        kept += [torch.where(x > 0, x, zero), torch.minimum(x, most)]
    return total(kept)


def fewer_positions_counted_on_the_device(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        places = torch.arange(len(x)).unsqueeze(0).to(x.device)
        kept.append(places + y)
    return total(kept)


def fewer_uploads_of_a_pinned_loader(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    kept = []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def fewer_uploads_of_a_plain_loader(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    kept = []
    for x, y in DataLoader(data, batch_size=4):
        x = x.to(device)
        y = y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def fewer_list_of_columns(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept += [x[:, [0, 2]], x[:, [1, 3]]]
    return total(kept)


def fewer_assertion(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        assert torch.isfinite(loss).all(), "the loss is not finite"
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def fewer_check_that_raises(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        if torch.isnan(loss).any():
            raise ValueError("the loss is NaN")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def fewer_larger_of_two(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bounds = out.detach().amax(0)
        kept.append(max(bounds[0], bounds[1]))
    return total(kept)


def fewer_clamp_of_what_overflowed(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        out = model(x)
        if torch.isinf(out).any():
            limit = torch.finfo(out.dtype).max - 1000
            out = torch.clamp(out, min=-limit, max=limit)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss.detach())
    return total(kept)


def keeps_mask_that_changes_in_between(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        keep = y > 0
        first = x[keep]
        keep[0] = True
        second = y[keep]
        kept += [first, second]
    return total(kept)


def keeps_mask_that_may_be_missing(device):
    model, optimizer = parts(device)
    kept = []
    for step, (x, y) in enumerate(batches(device)):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        keep = y > 0 if step else None
        first = x[keep] if keep is not None else x
        second = y[keep] if keep is not None else y
        kept += [first, second]
    return total(kept)


def keeps_check_that_is_caught(device):
    model, optimizer = parts(device)
    caught = 0
    for x, y in batches(device):
        out = model(x)
        try:
            if (out > 0.5).any():
                raise ValueError("large")
        except ValueError:
            caught += 1
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
    return caught


def fewer_masked_assignment_to_what_a_list_holds(device):
    model, optimizer = parts(device)
    frames = []
    current = torch.ones(4, 4, device=device) * 2
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        bad = current > 1
        other = current * 0.5
        frames.append(current)
        current[bad] = other[bad]
    return total(frames)


def fewer_masked_assignment_to_what_has_a_view(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        clean, other = x.clone(), x * 0.5
        row = clean[0]
        bad = clean > 1
        clean[bad] = other[bad]
        kept.append(row)
    return total(kept)


def keeps_masked_write_to_a_shared_tensor(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        clean = x.view(-1)
        clean[clean < 0] = 0
        kept.append(x)
    return total(kept)


def fewer_masks_beside_slices(device):
    found = []
    for x, y in batches(device):
        points, boxes = x[:2], x.repeat(2, 2).t()
        score = boxes[:, 0]
        kept = score > 0
        chosen = torch.cat((boxes[kept, :3], score[kept].unsqueeze(1)), dim=1)
        turned = boxes.t()[:, kept]
        found.append((chosen.shape, turned.shape, points.shape, chosen.sum(), turned.sum()))
    return [(*shapes, a.item(), b.item()) for *shapes, a, b in found]


def fewer_masks_of_two_dimensions_beside_slices(device):
    found = []
    for x, y in batches(device):
        cube = x[:4, :4].expand(2, 3, 4, 4) * torch.arange(1, 4, device=device)[:, None, None]
        mask = cube[0, :, 0] > 0
        found.append(cube[:, mask].sum())
        found.append(cube[0, mask, 1:3].sum())
        found.append(cube[..., mask, -1:].sum() if cube.dim() == 3 else cube[:, mask, -1:].sum())
    return [value.item() for value in found]
