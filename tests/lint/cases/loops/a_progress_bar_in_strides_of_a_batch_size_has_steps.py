import torch
from tqdm import trange


def sample(sampler, device, args):
    for i in trange(0, args.num_images, args.batch_size, desc="sampling"):
        noise = torch.randn(args.batch_size, 3)
        images.append(sampler(noise.to(device)).cpu())  # ASG103, ASG106
