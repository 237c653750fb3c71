import torch


class Trainer:
    def __init__(self, policy, optim, prompts):
        self.policy, self.optim = policy.cuda(), optim
        self.prompts = prompts.cuda()

    def learn(self, memories):
        for batch in memories:
            loss = self.policy(batch.cuda(non_blocking=True)).mean()
            loss.backward()
            self.optim.step()

    def run(self, steps, every):
        memories = []
        for step in range(steps):
            out = self.policy(self.prompts[step])
            memories.append(out.detach().cpu())  # ASG103
            if step % every == 0:
                self.learn(memories)


class Agent:
    def learn(self, states):
        raise NotImplementedError

    def run(self, states, every, loss: torch.Tensor):
        for step in range(1000):
            if step % every == 0:
                self.learn(states)
                print(loss.item())  # ASG102
