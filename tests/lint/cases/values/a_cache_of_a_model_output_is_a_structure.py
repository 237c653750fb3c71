import torch
from transformers import AutoModelForCausalLM


def decode(name, ids: torch.Tensor, n: int):
    model = AutoModelForCausalLM.from_pretrained(name)
    cache = None
    for _ in range(n):
        out = model(input_ids=ids[:, -1:] if cache else ids, past_key_values=cache)
        cache = out.past_key_values
        longest = cache[0].max().item()  # ASG102
        ids = torch.cat([ids, out.logits[:, -1:].argmax(-1)], 1)
    return ids, longest
