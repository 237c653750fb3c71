# xfail: a call by name reaches no override where several classes override the method

class Evaluator:
    def process(self, inputs, outputs):
        pass
