import torch


def search(mean, fitness, max_generations):
    mean = mean.cuda()
    for _ in range(max_generations):
        points = mean + torch.randn(16, 8, device="cuda")
        best = points[torch.argsort(fitness(points))][:4]
        mean = best.mean(0)
        if mean.norm() < 1e-6:  # ASG104
            break
    return mean


def tell(generations, mean):
    mean = mean.cuda()
    for generation in generations:  # texts
        mean = mean * generation
        print(mean.norm().item())  # clean
