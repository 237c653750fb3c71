import torch


def validate(model, dataset):
    for index in range(len(dataset)):
        image, truth = dataset[index]
        flow = model(image[None].cuda())[0].cpu()  # ASG103, ASG106
        errors = (flow - truth).numpy()
        kept = torch.sum(truth**2, dim=0).sqrt()
        print(kept.mean().item())


def validate_2(model, dataset):
    for index in range(len(dataset)):
        image, truth = dataset[index]
        flow = model(image[None].cuda())[0].cpu()  # ASG103, ASG106
        errors = flow.numpy()
        kept = torch.sum(truth**2, dim=0).sqrt()
        print(kept.mean().item())  # ASG102
