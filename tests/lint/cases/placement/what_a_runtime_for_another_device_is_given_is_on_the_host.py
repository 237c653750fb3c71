import torch


class Backend:
    def load(self, path):
        import openvino as ov

        self.model = ov.Core().compile_model(path)

    def forward(self, images: torch.Tensor):
        return self.model(images.cpu().numpy())  # clean


class Session:
    def load(self, path):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(path)

    def forward(self, images: torch.Tensor):
        return self.session.run(None, {"images": images.cpu().numpy()})  # ASG103


class Probe:
    def forward(self, images: torch.Tensor):
        return self.scale * images.cpu().numpy()  # ASG103
