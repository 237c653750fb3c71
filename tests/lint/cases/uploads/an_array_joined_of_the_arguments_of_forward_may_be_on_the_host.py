import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Encoder(nn.Module):
    def forward(self, texts, images):
        padded = pad_sequence(texts, batch_first=True).to(self.device)  # ASG106
        stacked = torch.stack(images).cuda()  # ASG106
        return self.head(padded, stacked)


class Decoder(nn.Module):
    def forward(self, texts, images):
        padded = pad_sequence(texts, batch_first=True)
        padded = padded.to(self.device)  # ASG106
        features = [self.head(image) for image in images]
        there = torch.stack(features).to(self.device)  # clean
        return torch.cat([padded, there]).to(padded.device)  # clean
