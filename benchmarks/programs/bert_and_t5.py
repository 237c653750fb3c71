"""transformers' BERT, trained in a loop, and its T5, generating by beams and by sampling."""

import torch
from digest import digest
from transformers import BertConfig, BertForMaskedLM, T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
bert = BertForMaskedLM(
    BertConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
)
optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-3)
for _ in range(4):
    ids = torch.randint(0, 64, (4, 12))
    loss = bert(ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(bert.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
t5 = T5ForConditionalGeneration(
    T5Config(
        vocab_size=64,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
).eval()
ids = torch.randint(1, 64, (2, 8))
print(t5.generate(ids, num_beams=3, max_new_tokens=8).tolist())
print(t5.generate(ids, do_sample=True, top_k=8, max_new_tokens=8).tolist())
print(digest(p.detach().numpy() for p in bert.parameters()))
