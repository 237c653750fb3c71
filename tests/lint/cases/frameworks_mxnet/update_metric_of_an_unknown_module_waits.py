import mxnet as mx


class Agent:
    def train(self, batches, metric):
        for batch in batches:
            self.engine.forward(batch, is_train=True)
            self.engine.backward()
            self.engine.update()
            self.engine.update_metric(metric, batch.label)  # ASG103
