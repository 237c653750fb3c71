import torch


class Choice(torch.nn.Module):
    def forward(self, input_ids, attention_mask=None):
        hidden = self.model(input_ids)[0]
        rows = torch.arange(hidden.shape[0], device=hidden.device)
        if attention_mask is not None:
            cls_mask = attention_mask.argmax(dim=-1).to(hidden.device)
        else:
            cls_mask = torch.full((), 0, dtype=torch.long, device=hidden.device)
        self.chosen(hidden, rows)
        return hidden[rows, cls_mask]  # clean

    def first(self, hidden, attention_mask):
        first_mask = attention_mask.argmax(dim=-1).to(hidden.device)
        return hidden[first_mask]  # clean

    def zeroth(self, hidden):
        first_mask = torch.full((), 0, dtype=torch.long, device=hidden.device)
        return hidden[first_mask]  # clean

    def chosen(self, hidden, labels):
        kept_mask = torch.ones(8, dtype=torch.bool, device=hidden.device)
        return hidden[kept_mask]  # ASG105
