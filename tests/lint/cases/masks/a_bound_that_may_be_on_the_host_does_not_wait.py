import torch


class Packer:
    def repack_words(self, words, lengths):
        longest, _ = lengths.max(0)
        return words.size(0), words[:, 0 : longest[1]].transpose(0, 1).cuda()  # ASG106


def train(model, loader, packer):
    for words, lengths in loader:
        model(packer.repack_words(words, lengths)).sum().backward()
