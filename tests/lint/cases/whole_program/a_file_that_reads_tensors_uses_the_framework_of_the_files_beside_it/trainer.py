from model import Model


class Trainer:
    def __init__(self):
        self.model = Model()

    def train(self, sampler, bar):
        total = 0
        for batch in sampler.step(64):
            total += self.model.train_step(batch)
            bar.set_postfix({"loss": f"{total.numpy():.5f}"})  # ASG103
