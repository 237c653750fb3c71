import torch


def parts(device):
    torch.manual_seed(1)
    model = torch.nn.Linear(256, 3).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def step(model, optimizer, x):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def rows(number=4):
    torch.manual_seed(0)
    return [torch.randn(128, 256).tolist() for _ in range(number)]


def listed(values):
    return [(value.double().sum().item(), str(value.dtype), tuple(value.shape)) for value in values]


def fewer_copies_of_a_table_that_is_made_once(device):
    model, optimizer = parts(device)
    table = torch.ones(128, 256)
    kept = []
    for row in rows():
        x = table.to(device, non_blocking=True)
        kept += [step(model, optimizer, x * len(row)), x]
    return listed(kept)


def fewer_copies_of_an_array_that_is_made_once(device):
    model, optimizer = parts(device)
    table = torch.ones(128, 256) / 3
    kept = []
    for row in rows():
        x = table.cuda(non_blocking=True)
        kept += [step(model, optimizer, x * len(row)), x]
    return listed(kept)


def fewer_copies_of_what_each_round_makes(device):
    model, optimizer = parts(device)
    kept = []
    for row in rows():
        images = torch.stack([torch.tensor(part) for part in row])
        x = images.to(device, non_blocking=True)
        kept += [step(model, optimizer, x), x]
    return listed(kept)


def fewer_copies_of_what_each_round_computes(device):
    model, optimizer = parts(device)
    kept = []
    for row in rows():
        batch = torch.ones(128, 256, dtype=torch.float64) * len(row)
        x = batch.to(device, torch.float32, non_blocking=True)
        kept += [step(model, optimizer, x), x]
    return listed(kept)


def fewer_copies_of_a_buffer_that_is_filled_anew(device):
    model, optimizer = parts(device)
    staging = torch.zeros(128, 256)
    kept = []
    for row in rows():
        staging.copy_(torch.tensor(row))
        x = staging.to(device, non_blocking=True)
        kept += [step(model, optimizer, x), x]
    return listed(kept)


def fewer_copies_of_a_buffer_that_is_filled_behind_them(device):
    model, optimizer = parts(device)
    staging = torch.zeros(128, 256)
    kept = []
    for row in rows():
        x = staging.view(128, 256).to(device, non_blocking=True)
        staging.copy_(torch.tensor(row))
        kept += [step(model, optimizer, x), x]
    return listed(kept)


def fewer_copies_of_every_second_column(device):
    model, optimizer = parts(device)
    pinned = torch.ones(128, 512, pin_memory=True)
    kept = []
    for row in rows():
        x = pinned[:, ::2].to(device, non_blocking=True)
        kept += [step(model, optimizer, x * len(row)), x]
    return listed(kept)


def fewer_copies_of_columns_that_are_filled_anew(device):
    model, optimizer = parts(device)
    pinned = torch.ones(128, 512, pin_memory=True)
    kept = []
    for row in rows():
        pinned[:, ::2] = torch.tensor(row)
        columns = pinned[:, ::2]
        x = columns.to(device, non_blocking=True)
        kept += [step(model, optimizer, x), x]
    return listed(kept)


def fewer_copies_into_a_tensor_of_the_device(device):
    model, optimizer = parts(device)
    x = torch.zeros(128, 256, device=device)
    kept = []
    for row in rows():
        batch = torch.ones(128, 256) + len(row)
        x.copy_(batch, non_blocking=True)
        kept += [step(model, optimizer, x), x.clone()]
    return listed(kept)


def fewer_copies_of_a_view_of_an_array_that_changes(device):
    model, optimizer = parts(device)
    array = torch.ones(256, 256)
    part = array.view(256, 256)
    array[0] = 5
    kept = []
    for row in rows():
        x = part.to(device, non_blocking=True)
        kept += [step(model, optimizer, x * len(row)), x]
        array[1] += 1
    return listed(kept)


def keeps_a_destination_that_is_read_at_once(device):
    model, optimizer = parts(device)
    host = torch.empty(128, 256)
    kept = []
    for row in rows():
        x = torch.ones(128, 256, device=device) * len(row)
        loss = step(model, optimizer, x)
        host.copy_(x, non_blocking=True)
        kept += [host.double().sum(), loss]
    return listed(kept)


def keeps_a_copy_that_is_told_by_a_variable(device):
    model, optimizer = parts(device)
    table = torch.ones(128, 256)
    kept = []
    for row in rows():
        x = table.to(device, non_blocking=len(row) < 0)
        kept += [step(model, optimizer, x * len(row)), x]
    return listed(kept)
