import numpy as np


class Core:
    def run(self, steps):
        state = self.mdp.reset()
        for _ in range(steps):
            action = self.agent.draw_action(state)
            state, reward, end, _ = self.mdp.step(np.clip(action, -1, 1))
