# xfail: what numpy is handed is found likely: the fit has few such programs
import numpy as np
import torch


class Agent:
    def choose_action(self, state, last):
        rows = np.hstack((state, last))  # clean
        state = torch.tensor(rows)
        state = state.cuda()  # ASG106
        return self.net(state)
