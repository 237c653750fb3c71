import torch


class Agent:
    def __init__(self, net):
        self.critic = net
        self.optimizer = torch.optim.Adam(self.critic.parameters())

    def improve(self, buffer, count):
        states, actions = buffer
        for _ in range(count):
            ids = torch.randint(count, size=(3,))
            state = states[ids]  # ASG106
            other = states[ids]  # clean
            action = actions[ids]  # clean
            action = count
            loss = self.critic(state, action).mean()
            loss.backward()
            self.optimizer.step()
