import torch


class Policy:
    def draw(self, state):
        return self.mu(torch.as_tensor(state, device="cuda")).cpu().numpy()  # ASG103, ASG106


class Core:
    def run(self, mdp, agent, steps):
        state = mdp.reset()
        for _ in range(steps):
            action = agent.draw_action(state)
            state, reward, end, info = mdp.step(action)

    def tune(self, solver, steps):
        for _ in range(steps):
            low, high = solver.step(self.bounds)
            self.bounds = solver.draw_bounds(low, high)


class Agent:
    def draw_action(self, state):
        return self.policy.draw(state)


class Solver:
    def draw_bounds(self, low, high):
        return torch.as_tensor(low, device="cuda").cpu()  # clean
