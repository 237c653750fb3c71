import torch


def beam_search(decoder, encoded, length):
    words = torch.zeros(4, 1, dtype=torch.long, device=encoded.device)
    for _ in range(length):
        best, index = decoder(words, encoded).topk(4)
        if (words[:, -1] == index).all():  # ASG104
            break
    return words


def spell(decoder, encoded, length):
    words = torch.zeros(4, 1, dtype=torch.long, device=encoded.device)
    for row in range(length):
        if words[row] in decoder.known:  # clean
            break
    return words
