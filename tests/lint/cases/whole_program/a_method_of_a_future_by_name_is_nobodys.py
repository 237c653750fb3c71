from concurrent.futures import ThreadPoolExecutor

import torch


class Annotator:
    def result(self):
        self.image = torch.zeros(3, device="cuda")
        return self.image.cpu()  # clean


def load(path):
    return path


def train(model, optimizer, paths):
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(load, path) for path in paths]
        for future in futures:
            loss = model(future.result()).mean()
            loss.backward()
            optimizer.step()
