import jax


class Queue:
    def wait_for_all(self):
        while not self.queue.empty():
            self.queue.get().block_until_ready()  # clean
            jax.numpy.ones(2) + 1


class Queue2:
    def exchange(self):
        while not self.queue.empty():
            self.queue.get().block_until_ready()  # ASG201
            jax.numpy.ones(2) + 1
