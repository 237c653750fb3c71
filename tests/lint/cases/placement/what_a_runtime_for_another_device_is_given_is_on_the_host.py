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


def feed(loader: torch.utils.data.DataLoader, model: torch.nn.Module, session):
    for batch in loader:
        outputs = model(batch)
        session.send(as_input(outputs))
        session.send(as_array(outputs))


def as_input(tensor: torch.Tensor):
    import openvino

    return openvino.Tensor(tensor.cpu().numpy())  # clean


def as_array(tensor: torch.Tensor):
    return tensor.cpu().numpy()  # ASG103
