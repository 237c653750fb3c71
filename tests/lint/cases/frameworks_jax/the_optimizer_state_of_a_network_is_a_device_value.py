import jax
from lib import make


def train(config, loader):
    network = make(config)
    for batch in loader:
        loss = network.train(batch)
        log(network.state["opt_state"][-1].count[0].item())  # ASG102


def train_2(config, loader):
    network = make(config)
    for batch in loader:
        loss = network.train(batch)
        log(network.state.opt_state.hyperparams.item())  # ASG102


def train_3(config, loader):
    network = make(config)
    for batch in loader:
        loss = network.train(batch)
        log(network.config["version"][0].item())  # clean
