# clean

import numpy as np
import torch
from transformers import AutoTokenizer


def encode(texts):
    tokenizer = AutoTokenizer.from_pretrained("x")
    for step, text in enumerate(texts):
        ids = np.concatenate([tokenizer(text), tokenizer(text)])
