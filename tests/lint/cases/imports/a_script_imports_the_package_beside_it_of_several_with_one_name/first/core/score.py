import mxnet


def area(boxes):
    return boxes.asnumpy()  # ASG103
