import torch


class Plan:
    def __init__(self, lengths_cpu: torch.Tensor, host_offsets, rows_np, lengths: torch.Tensor):
        self.lengths_cpu, self.host_offsets, self.rows_np = lengths_cpu, host_offsets, rows_np
        self.lengths = lengths


class Attend(torch.nn.Module):
    def forward(self, x, plan: Plan, sizes_cpu):
        longest = int(plan.lengths_cpu.max())  # clean
        start = plan.host_offsets[1].item()  # clean
        rows = plan.rows_np.tolist()  # clean
        if sizes_cpu.sum() > longest:  # clean
            x = x[start:]
        if plan.lengths.max() > longest:  # ASG104
            x = x[:longest]
        return x, rows
