import json
import torch

with open("words.json") as file:
    words = json.load(file)


def run(model, loader):
    for batch in loader:
        word = torch.argmax(model(batch))
        if word != words["<end>"]:  # ASG104
            break
