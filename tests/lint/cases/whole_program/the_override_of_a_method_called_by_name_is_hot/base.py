class Evaluator:
    def process(self, inputs, outputs):
        pass
