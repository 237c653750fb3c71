"""A CUDA device that is not there: CUDA programs run on the CPU with real values.

Tensors "on the device" are plain CPU tensors whose storage carries a mark; every operator's
results take the mark of its operands. Which calls wait comes from the catalogue, as on a real
device; how long they wait, from a virtual clock. Importing this package imports no torch.
"""
