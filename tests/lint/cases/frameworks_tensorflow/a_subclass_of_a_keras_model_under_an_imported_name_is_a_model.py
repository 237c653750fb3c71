from tensorflow.keras import models


class Net(models.Model):
    pass


def evaluate(dataset):
    net = Net()
    for x in dataset:
        net.predict(x)  # ASG103
