import tensorlayer as tl


class Agent:
    def __init__(self, policy_net):
        self.policy_net = policy_net

    def get_action(self, state):
        return self.policy_net(state).numpy()[0]  # ASG103
