import torch


class LogitsProcessor:
    pass


class EndLogitsProcessor(LogitsProcessor):
    def __call__(self, input_ids: torch.Tensor, scores):
        if (input_ids[:, -1] == 2).all():  # ASG104
            return scores
        return torch.softmax(scores, -1)


class TopKAccuracy:
    def update(self, preds: torch.Tensor, target: torch.Tensor):
        self.correct += (preds.argmax(-1) == target).sum().item()  # ASG102


class Logistic:
    def __call__(self, input_ids: torch.Tensor, scores):
        return bool((input_ids[:, -1] == 2).all())  # clean
