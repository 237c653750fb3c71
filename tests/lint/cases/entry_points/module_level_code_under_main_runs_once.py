import torch
from net import Net

if __name__ == "__main__":
    net = Net()
    out = net(torch.ones(3, device="cuda"))
    print(out["loss"])  # clean
    out["loss"].backward()
