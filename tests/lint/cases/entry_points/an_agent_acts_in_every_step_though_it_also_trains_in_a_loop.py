import chainer


class Agent:
    def act_and_train(self, obs, reward):
        if len(self.memory) > 100:
            for batch in self.memory:
                self.learn_from(batch)
        action, v = self.model(obs)
        return chainer.cuda.to_cpu(action.array)[0]  # ASG103

    def learn_from(self, batch):
        loss = self.model(batch)
        self.model.cleargrads()
        loss.backward()
        self.optimizer.update()
