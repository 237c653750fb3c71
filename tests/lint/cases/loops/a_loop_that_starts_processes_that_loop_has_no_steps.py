import multiprocessing as mp
import threading

import cupy as cp


def reconstruct(x, steps, queue):
    for i in range(steps):
        x = cp.fft.ifftn(cp.fft.fftn(x)).real
        if cp.linalg.norm(x) < 1e-6:  # ASG104
            break
    queue.put(x)


def correct(x, queue):
    queue.put(cp.sqrt(x))


def main(x, rounds, queue):
    total = cp.zeros((8, 8))
    for _ in range(rounds):
        mp.Process(target=reconstruct, args=(x, 100, queue)).start()
        total = total + cp.fft.fftn(cp.zeros((8, 8)))
        if cp.linalg.norm(total) < 1e-6:  # clean
            break
    return total


def main_of_steps(x, rounds, queue):
    total = cp.zeros((8, 8))
    for _ in range(rounds):
        threading.Thread(target=correct, args=(x, queue)).start()
        total = total + cp.fft.fftn(cp.zeros((8, 8)))
        if cp.linalg.norm(total) < 1e-6:  # ASG104
            break
    return total
