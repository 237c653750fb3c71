import torch


class Worker:
    def __init__(self, model):
        self.model = model.cuda()

    def serve(self, requests, answers):
        while True:
            x = requests.get()
            x = x.cuda()  # clean
            for i, t in enumerate(self.times):
                x = self.model(x, t)
                if x.isnan().any():  # ASG104
                    raise ValueError(i)
            answers.put(x.cpu())  # clean


def denoise(model, x, times):
    for t in times:
        x = model(x, t)
        print(x.norm())  # ASG101
    return x


def main(model, prompts):
    for prompt in prompts:
        x = torch.tensor(prompt, device="cuda")  # clean
        print(denoise(model, x, range(10)).cpu())  # clean


def evaluate(model, prompts):
    layers = torch.nn.ModuleList([model, model]).cuda()
    for prompt in prompts:
        x = torch.tensor(prompt, device="cuda")  # ASG106
        for layer in layers:
            x = layer(x)
        print(x.cpu())  # ASG103
