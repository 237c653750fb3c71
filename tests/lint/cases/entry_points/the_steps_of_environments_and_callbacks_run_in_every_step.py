import torch


class Arena:
    def _reset(self, state):
        self.start = torch.sum(state).item()  # clean

    def _step(self, state):
        done = torch.isnan(state).any()
        if done:  # ASG104
            self.lost = True


class Machine:
    def _reset_all(self, state):
        if torch.isnan(state).any():  # clean
            self.lost = True


class Scaling:
    def before_step(self):
        if self.dynamic and overflows(self.parameters):
            self.scale /= 2


def overflows(parameters):
    return any(is_infinite(p.grad) for p in parameters if p.grad is not None)


def is_infinite(x: torch.Tensor):
    return float(x.sum()) == float("inf")  # ASG102


class Monitor:
    def batch_end(self, state, logger):
        logger.log_metrics({"loss": torch.sum(state.loss).item()})  # ASG102

    def epoch_end(self, state, logger):
        logger.log_metrics({"loss": torch.sum(state.loss).item()})  # clean
