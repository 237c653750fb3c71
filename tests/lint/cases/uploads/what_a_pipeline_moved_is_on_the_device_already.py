# settings: min_confidence=low min_probability=0.1
import torch


class Pipeline:
    def __call__(self, inputs):
        for each in inputs:
            moved = self.place(self.preprocess(each), self.device)
            yield self.postprocess(self._forward(moved))

    def place(self, inputs, device):
        if isinstance(inputs, dict):
            return {name: self.place(tensor, device) for name, tensor in inputs.items()}
        return inputs.to(device)  # ASG106


class TablePipeline(Pipeline):
    def _forward(self, inputs):
        ids = inputs["input_ids"].to(self.device)  # clean
        return self.model(ids)
