import torch


class Evaluator:
    @property
    def model(self):
        if hasattr(self, "accelerator"):
            return self.accelerator.unwrap_model(self._model)
        return self._model

    def generate(self, chunks):
        for chunk in chunks:
            tokens = self._generate(chunk)
            yield tokens.tolist()  # ASG102

    def _generate(self, context):
        with torch.no_grad():
            return self.model(input_ids=context)
