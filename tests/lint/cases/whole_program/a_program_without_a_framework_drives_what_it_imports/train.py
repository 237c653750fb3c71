from agents import Agent
from meters import Meter


def main(source):
    agent, meter = Agent(), Meter()
    for step in range(1000):
        meter.add(agent.learn(source.draw()))


if __name__ == "__main__":
    main(None)
