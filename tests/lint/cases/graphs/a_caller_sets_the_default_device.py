# After nano-vllm: what a method makes is on the device that its caller has set.
import torch


class Runner:
    def __init__(self, model):
        self.model = model
        torch.set_default_device("cuda")
        self.capture()
        torch.set_default_device("cpu")
        self.capture_again()

    def capture(self):
        inputs, outputs = torch.zeros(8, 8), torch.zeros(8, 8)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            outputs[:4] = self.model(inputs[:4])  # clean

    def capture_again(self):
        inputs, outputs = torch.zeros(8, 8, device="cuda"), torch.zeros(8, 8)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            outputs[:4] = self.model(inputs[:4])  # ASG501 none
