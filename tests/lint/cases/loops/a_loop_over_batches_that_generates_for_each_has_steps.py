import torch
from transformers import AutoModelForCausalLM


@torch.no_grad()
def answer(requests, tokenizer):
    model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()
    answers = []
    chunks = requests.get_batched(n=8)
    for chunk in chunks:
        ids = tokenizer(chunk, return_tensors="pt").input_ids
        ids = ids.to("cuda")  # ASG106
        out = model.generate(ids, max_new_tokens=8)
        answers.append(out.tolist())  # ASG102
    return answers
