import torch


def generate(embed, blocks, head, ids, count):
    for part in (embed, blocks, head):
        part.to("cuda")
    ids = ids.to("cuda")
    for _ in range(count):
        x = embed(ids)
        for block in blocks:
            x = block(x)
        ids = torch.cat([ids, head(x[:, -1:]).argmax(-1)], dim=1)
        if (ids[:, -1] == 2).all():  # ASG104
            break
    return ids


def report(fetch, rows):
    total = torch.zeros(3)
    for row in rows:
        total = fetch(total)
        print(total.max())  # clean: made on the host
