import torch
import torch.nn.functional as F


def attack(net, opt, adj: torch.Tensor, labels, budget):
    for _ in range(budget):
        for _ in range(100):
            opt.zero_grad()
            loss = F.cross_entropy(net(adj), labels)
            loss.backward()
            opt.step()
            print(loss.item())  # ASG102
        change = torch.autograd.grad(net(adj).sum(), adj)[0]
        print(change.max().item())  # clean


class Attack:
    def train(self, net, opt, adj):
        for _ in range(100):
            opt.zero_grad()
            F.cross_entropy(net(adj), self.labels).backward()
            opt.step()
        return net(adj).sum()

    def run(self, net, opt, adj: torch.Tensor, budget):
        for _ in range(budget):
            change = torch.autograd.grad(self.train(net, opt, adj), adj)[0]
            print(change.max().item())  # clean


def penalize(net, opt, loader):
    for x in loader:
        for _ in range(5):
            loss = net(x.cuda(non_blocking=True)).mean()
            loss.backward()
            opt.step()
        (slope,) = torch.autograd.grad(net(x).mean(), x)
        slope.mean().backward()
        opt.step()
        print(slope.max().item())  # ASG102


def search(net, rounds, x: torch.Tensor):
    for x in rounds:
        (slope,) = torch.autograd.grad(net(x).mean(), net.weights)
        for i in range(net.search_max_iter):
            net.move(slope / i)
            net(x)
        print(slope.max().item())  # ASG102
