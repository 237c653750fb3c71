import torch


@torch.no_grad()
def encode(model, tokenizer, texts, size):
    done = False
    while done is False:
        try:
            batch = tokenizer.pad(texts[:size], return_tensors="pt").to("cuda")  # clean
            model(**batch)
            done = True
        except RuntimeError:
            size = size // 2


def encode_2(model, texts: torch.Tensor, size):
    while True:
        try:
            print(model(texts[:size].cuda()).item())  # clean
            break
        except RuntimeError:
            size = size // 2


def encode_all(model, loader: torch.utils.data.DataLoader):
    batches = iter(loader)
    while True:
        try:
            print(model(next(batches)).item())  # ASG102
        except StopIteration:
            break


def encode_each(model, loader: torch.utils.data.DataLoader, size):
    for x in loader:
        done = False
        while not done:
            try:
                print(model(x[:size]).item())  # ASG102
                done = True
            except RuntimeError:
                size = size // 2


def encode_parts(model, texts: torch.Tensor, size):
    for i in range(100):
        while True:
            try:
                print(model(texts[i : i + size]).item())  # ASG102
                break
            except RuntimeError:
                size = size // 2
