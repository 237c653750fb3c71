# settings: min_probability=0.09
import matplotlib.pyplot as plt
import warp as wp
from matplotlib.animation import FuncAnimation


@wp.kernel
def advance(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0


def areas(mesh):
    x = wp.zeros(64, device="cuda")
    wp.launch(advance, dim=64, inputs=[x])
    return x.numpy()  # clean


def main(figure, image, mesh):
    x = wp.zeros(64, device="cuda")
    start = areas(mesh)

    def update(frame):
        wp.launch(advance, dim=64, inputs=[x])
        image.set_array(x.numpy() - start)  # ASG103
        return [image]

    FuncAnimation(figure, update, frames=100)
    plt.show()
