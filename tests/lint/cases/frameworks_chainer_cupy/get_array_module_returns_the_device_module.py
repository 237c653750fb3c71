import cupy


def train(x):
    module = cupy.get_array_module(x)
    for step in range(100):
        x = module.sqrt(x)
        print(float(x))  # ASG102
