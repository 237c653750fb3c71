# settings: min_probability=0.31
import numpy as np
import torch


class Agent:
    def choose_action(self, obs, last):
        inputs = obs.copy()
        inputs = np.hstack((inputs, last))  # clean
        inputs = torch.tensor(inputs)
        inputs = inputs.cuda()  # ASG106
        return self.net(inputs)
