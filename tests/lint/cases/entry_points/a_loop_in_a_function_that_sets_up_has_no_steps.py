import torch


def __init__(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # clean


def load_adapters(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # clean


def from_pretrained(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # clean


def pissa_init(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # clean


def save_all(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # clean


def score(model, prompts):
    for prompt in prompts:
        scale = model(prompt).norm().item()  # ASG102
