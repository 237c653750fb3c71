import numpy as np
import torch


class Model(torch.nn.Module):
    def forward(self, x, ids: np.ndarray):
        scores = torch.zeros(8, device=x.device)
        place = np.where(ids == 3)[0].item()
        first = ids.tolist()[0]
        listed = ids.tolist()
        return scores[place] + scores[first] + scores[listed]  # ASG106
