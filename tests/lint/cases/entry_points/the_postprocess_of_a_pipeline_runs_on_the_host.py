import torch


class FillMaskPipeline:
    def postprocess(self, outputs: torch.Tensor):
        return outputs.argmax(-1).item()  # clean


class Detector:
    def postprocess(self, outputs: torch.Tensor):
        return outputs.argmax(-1).item()  # ASG102
