import torch


class Strategy:
    def step_post_backward(self, params, state, step, info):
        seen = torch.where(info["radii"] > 0)[0]  # ASG105
        state["count"].index_add_(0, seen, torch.ones_like(seen))

    def before_epoch(self, info):
        return torch.where(info["radii"] > 0)[0]
