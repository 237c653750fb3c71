import torch


class Runner:
    def __init__(self, model):
        self.model = model.cuda()

    def call(self, method_name, *args):
        method = getattr(self, method_name, None)
        return method(*args)

    def run(self, ids):
        logits = self.model(torch.tensor(ids, device="cuda"))  # ASG106
        return logits.argmax(-1).tolist()  # ASG102

    def exit(self):
        print(torch.zeros(3, device="cuda"))  # clean


class Engine:
    def __init__(self, model):
        self.runner = Runner(model)
        self.queue = []

    def step(self):
        ids = self.queue.pop()
        return self.runner.call("run", ids)

    def generate(self):
        while self.queue:
            self.step()
        self.runner.call("exit")
