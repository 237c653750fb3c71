import numpy as np
from keras import backend as K


class Net:
    def __init__(self, plan):
        self.q = plan(K.placeholder())

    def act(self, state):
        values = self.q.predict_on_batch(state)  # ASG103
        return np.argmax(values)
