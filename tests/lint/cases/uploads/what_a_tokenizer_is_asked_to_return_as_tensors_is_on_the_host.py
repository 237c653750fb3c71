import torch
from torch import nn


class Answerer(nn.Module):
    def forward(self, samples, questions):
        text = self.tokenizer(questions, padding=True, return_tensors="pt").to(self.device)  # ASG106
        padded = self.tokenizer.pad(
            samples["text"],
            return_tensors="pt",
        )
        ids = padded["input_ids"].to(samples["image"].device)  # ASG106
        there = self.processor(samples, return_tensors="pt", device="cuda")
        return self.encoder(text, ids, there.to("cuda"))  # clean

    def training_step(self, texts):
        plain = self.tokenizer(texts)
        arrays = self.tokenizer(texts, return_tensors="np")
        return self.encoder(plain, arrays)  # clean
