import torch


def model_forward(self, input_ids, position_ids=None):
    lengths = position_ids.max(-1)[0].tolist()  # ASG102
    return self.layers(input_ids, lengths)


def step_forwards(self, position_ids):
    return position_ids.max(-1)[0].tolist()  # clean


def attend(module, query, key, value, attention_mask, **options):
    if torch.any(attention_mask):  # ASG104
        return query
    return attend_all(query, key, value)


def describe(module, query, attention_mask):
    return "masked" if torch.any(attention_mask) else "full"  # clean
