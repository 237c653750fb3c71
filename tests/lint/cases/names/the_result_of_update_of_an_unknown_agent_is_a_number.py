# clean

import torch
from agents import Agent
from torch.utils.tensorboard import SummaryWriter

env = make()
agent = Agent()
writer = SummaryWriter()
while True:
    env.step(agent.act())
    critic_loss, policy_loss = agent.update(32)
    writer.add_scalar("loss", critic_loss)
    print(policy_loss)
