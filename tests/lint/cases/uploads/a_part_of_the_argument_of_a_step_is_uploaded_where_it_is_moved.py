import torch


class Model:
    def feed_data(self, data, batch: torch.Tensor, where: torch.Tensor):
        self.low = data["low"].to(self.device)  # ASG106
        self.first = data[0].clone().float().to(self.device)  # ASG106
        self.mean = data.mean().to(self.device)
        self.batch = batch.to(self.device)  # ASG106
        device = where.device
        self.there = batch.to(device)
