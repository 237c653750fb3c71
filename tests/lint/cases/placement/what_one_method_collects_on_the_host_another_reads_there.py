import torch


class Metrics:
    def process(self, targets: list[torch.Tensor], predictions: list[torch.Tensor]):
        predictions, targets = torch.cat(predictions), torch.cat(targets)
        correct = (targets == predictions).float()
        self.accuracy = correct.mean().item()  # clean

    def totals(self, losses: list[torch.Tensor]):
        return torch.stack(losses).sum().item()  # ASG102


class Validator:
    def __init__(self):
        self.targets = []
        self.predictions = []
        self.losses = []
        self.metrics = Metrics()

    def update(self, predictions, batch, loss):
        self.predictions.append(predictions.argmax(1).cpu())  # ASG103
        self.targets.append(batch["cls"].cpu())  # ASG103
        self.losses.append(loss)

    def report(self):
        self.metrics.process(self.targets, self.predictions)
        return self.metrics.totals(self.losses)


def validate(model, loader, validator: Validator):
    for batch in loader:
        predictions, loss = model(batch["img"].cuda(non_blocking=True))
        validator.update(predictions, batch, loss)
        validator.report()
