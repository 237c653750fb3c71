import torch


class Engine:
    def __init__(self, model):
        self.model = model.cuda().eval()
        self.tokens = torch.zeros(8, dtype=torch.long, device="cuda")

    def run(self):
        while True:
            logits = self.model.decode(self.tokens)
            print(logits.max().item())  # ASG102


class Table:
    def __init__(self, rows):
        self.rows = rows.cuda().double()

    def run(self, count):
        for _ in range(count):
            found = self.rows.lookup(3)
            print(found)  # clean: no model runs
