import jax
from base import Solver


def run(solver: Solver, evaluate, iterations):
    for i in range(iterations):
        solver.tell(evaluate())
        if i % 10 == 0:
            print(i)
