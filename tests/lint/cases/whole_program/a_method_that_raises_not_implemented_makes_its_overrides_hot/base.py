class Solver:
    def tell(self, scores):
        raise NotImplementedError
