import torch


def train(loader, model, optimizer):
    for texts in loader:
        batch = model.tokenize(texts)
        batch = {k: v.to(model.device) for k, v in batch.items()}  # ASG106
        latent = model.embed_images(batch)
        latent = {k: v.to(model.device) for k, v in latent.items()}  # clean
        out = model(**batch, **latent)
        torch.mean(out.loss).backward()
        optimizer.step()
