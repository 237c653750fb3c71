import scipy.optimize
import torch
from scipy.optimize import minimize


def fit(loss_of, start):
    def objective(vector):
        loss = loss_of(torch.as_tensor(vector, device="cuda"))  # ASG106
        loss.backward()
        return loss.item()  # ASG102

    return scipy.optimize.minimize(objective, start, jac=True)


class Fitter:
    def __init__(self):
        self.model = torch.nn.Linear(3, 3).cuda()

    def objective(self, vector):
        return float(self.model(torch.as_tensor(vector)).sum())  # ASG102

    def summary(self, vector):
        return float(self.model(torch.as_tensor(vector)).sum())  # clean

    def run(self, start):
        found = minimize(self.objective, start, method="L-BFGS-B")
        return self.summary(found.x)
