import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


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


def listed(values):
    return [(value.tolist(), str(value.dtype), tuple(value.shape)) for value in values]


def fewer_list_of_one_number(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        size = len(x)
        kept.append(torch.tensor([size], device=x.device))
        kept.append(torch.as_tensor([[x.shape[0]]], dtype=torch.float, device=x.device))
        kept.append(torch.tensor(True, device=x.device))
    return listed(kept)


def fewer_numbers_like_another_tensor(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept += [y.new_tensor(-1), x.new_tensor([0.5]), torch.tensor(-100).type_as(y)]
        kept.append(torch.tensor(2.5).type_as(y))
    return listed(kept)


def fewer_range_as_a_tensor(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept.append(torch.tensor(list(range(x.shape[0])), dtype=torch.int32, device=x.device))
        kept.append(torch.tensor(list(range(len(y))), dtype=x.dtype, device=x.device))
    return listed(kept)


def fewer_lists_of_any_numbers(device):
    model, optimizer = parts(device)
    kept, lengths = [], []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        lengths.append(len(x))
        kept.append(torch.tensor(lengths, device=x.device))
        kept.append(torch.tensor([0, *lengths, 0.5], dtype=torch.float64, device=x.device))
        weights = torch.tensor([1.0, 2.0, 4.0, 8.0]).to(device)
        kept.append(x * weights)
        kept.append(x.new_tensor([1, 2, len(lengths)]))
        kept.append(torch.tensor([], device=x.device))
    return listed(kept)


def fewer_list_that_becomes_a_tensor(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        sizes = []
        for row in x:
            sizes.append(row.shape[0])
        sizes = torch.tensor(sizes, device=device)
        kept.append(sizes)
    return listed(kept)


def fewer_columns_in_any_order(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept += [x[:, [2, 0, 1]], x[..., [3, 1]], x[[1, 0, 1, 0]], y[[2, 0]]]
        cube = x.reshape(1, -1, 4).expand(2, -1, 4)
        kept += [cube[:, [1, 0]], cube[..., [1, 0, 0], :], cube[:, :, [3, 0]]]
    return listed(kept)


def fewer_columns_with_gradients(device):
    model, optimizer = parts(device)
    for x, y in batches(device):
        logits = model(x)
        loss = F.cross_entropy(logits[:, [2, 0, 1]], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [round(value, 9) for value in model.weight.flatten().tolist()]


def fewer_last_column(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept += [x[:, [-1]], x[..., [-2]], x[[-3], :]]
    return listed(kept)


def fewer_writes_to_columns(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        boxes = x.clone()
        boxes[:, [0, 2]] *= 3
        boxes[..., [1, 3]] = boxes[..., [0, 2]] + 1
        kept.append(boxes)
    return listed(kept)


def fewer_numbers_written_by_index(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        rows = torch.arange(len(y), device=x.device)
        chosen = torch.zeros(len(y), 3, device=x.device)
        chosen[rows, y] = 1
        seen = torch.zeros(3, dtype=torch.bool, device=x.device)
        seen[y] = True
        counts = torch.full((3,), 7, device=x.device)
        counts[y] = 0
        x = x.detach()
        x[rows] = -float("inf")
        kept += [chosen, seen, counts, x]
    return listed(kept)


def fewer_rows_counted_by_range(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept.append(x[range(len(y)), y])
        kept.append(x[torch.arange(x.shape[0]), y])
        kept.append(x[torch.arange(len(x)).unsqueeze(-1), y.unsqueeze(-1)])
    return listed(kept)


def fewer_rows_counted_under_a_name(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        rows = torch.arange(len(y))
        kept.append(x[rows, y])
        kept.append(x[rows.flatten(), y])
    return listed(kept)


def keeps_an_index_that_the_host_uses_too(device):
    model, optimizer = parts(device)
    table = list("abcdefg")
    kept, names = [], []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        rows = torch.arange(len(y))
        kept.append(x[rows, y])
        names.append([table[row] for row in rows])
    return listed(kept), names


def fewer_sums_of_what_a_mask_selects(device):
    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        mask = (y > 0).unsqueeze(1)
        kept.append(x.double().masked_select(mask).sum())
        kept.append(x.abs().mul(2).masked_select(x > 9).sum())
    return [round(value.item(), 6) for value in kept]


def keeps_a_list_in_an_argument(device):
    def upload(values, where):
        return torch.tensor(values, device=where)

    model, optimizer = parts(device)
    kept = []
    for x, y in batches(device):
        step(model, optimizer, x, y)
        kept.append(upload([1, len(x)], x.device))
    return listed(kept)




def train_on(loader, model, optimizer, device):
    kept = []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept += [x, y]
    return kept


def fewer_uploads_of_a_loader_that_callers_pass(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,)))
    loader = DataLoader(data, batch_size=6)
    return listed(train_on(loader, model, optimizer, device))


def fewer_uploads_of_a_loader_in_a_progress_bar(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,)))
    loader = DataLoader(data, batch_size=6)
    kept = []
    progress = tqdm(loader, disable=True)
    for x, y in progress:
        x, y = x.to(device), y.to(device)
        step(model, optimizer, x, y)
        kept += [x, y]
    with tqdm(enumerate(loader), disable=True) as progress_again:
        for _, (x, y) in progress_again:
            x, y = x.to(device), y.to(device)
            step(model, optimizer, x, y)
            kept += [x, y]
    return listed(kept)


def fewer_uploads_of_a_loader_with_a_dictionary(device):
    def train(batches, kept):
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            step(model, optimizer, x, y)
            kept += [x, y]
        return kept

    model, optimizer = parts(device)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,)))
    options = {"batch_size": 6}
    more = {"pin_memory": True} if device == "cuda" else {}
    options.update(more)
    return listed(train(DataLoader(data, **options), []))


class Trainer:
    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    def train(self, model, optimizer):
        kept = []
        for x, y in self.loader:
            x = x.to(self.device)
            y = y.to(self.device)
            step(model, optimizer, x, y)
            kept += [x, y]
        return kept


def prepared(size):
    data = TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,)))
    return DataLoader(data, batch_size=size, pin_memory=True)


def fewer_uploads_of_a_trainer(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    trainer = Trainer(prepared(6), device)
    return listed(trainer.train(model, optimizer))


def keeps_uploads_of_what_is_no_loader(device):
    model, optimizer = parts(device)
    torch.manual_seed(0)
    rows = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(4)]
    kept = []
    for x, y in rows:
        x, y = x.to(device), y.to(device)
        step(model, optimizer, x, y)
        kept += [x, y]
    return listed(kept)
