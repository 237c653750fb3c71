import torch


class Evaluator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.host = torch.device("cpu")

    def forward(self, inputs, outputs):
        for one, output in zip(inputs, outputs):
            found = output["found"].to(self.host)  # ASG103
            keep(to_dict(found))
            keep(to_dict_there(output["others"]))


def to_dict(found):
    return rows(found)


def rows(found):
    result = []
    for k in range(len(found)):
        part = found.parts[k]
        result.append(part.scores.squeeze(0).cpu())  # clean
    return result


def to_dict_there(found):
    return rows_there(found)


def rows_there(found):
    result = []
    for k in range(len(found)):
        part = found.parts[k]
        result.append(part.scores.squeeze(0).cpu())  # ASG103
    return result
