import jax


class Trainer:
    def train_step(self, summary, data):
        for name, value in self.train_op(data).items():
            summary.scalar(name, float(value))  # ASG102
