import time

import torch


class Planner:
    def __init__(self, net: torch.nn.Module, horizon):
        self.net, self.horizon = net, horizon

    def rollout(self, x: torch.Tensor):
        for _ in range(self.horizon):
            x = self.net(x)
        return x


def control(robot, planner: Planner, period):
    while True:
        begin = time.perf_counter()
        action = planner.rollout(robot.state())
        robot.send(action.cpu().numpy())  # ASG103
        slack = period - (time.perf_counter() - begin)
        if slack > 0:
            time.sleep(slack)


def serve(requests, planner: Planner):
    while True:
        request = requests.poll()
        if request is None:
            time.sleep(0.1)
            continue
        request.answer(planner.rollout(request.x).cpu())  # clean
