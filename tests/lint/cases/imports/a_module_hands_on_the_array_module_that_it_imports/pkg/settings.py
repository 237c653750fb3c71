import numpy as np

from .backend import (
    xp,  # NumPy or CuPy
)

own = np
