import torch


class Head:
    def act(self, x):
        action = self.actor(torch.from_numpy(x).to(self.device))  # ASG106
        if self.device.type == "cpu":
            return action.numpy()  # clean
        return action.cpu().numpy()  # ASG103

    def learn(self, batch):
        loss = self.assign(batch.cuda())  # ASG106
        loss.backward()
        self.optimizer.step()
        if self.device != torch.device("cpu"):
            print(loss)  # ASG101

    def assign(self, x, mode="gpu"):
        if mode == "cpu":
            x = x.cpu()  # clean
        return self.model(x)
