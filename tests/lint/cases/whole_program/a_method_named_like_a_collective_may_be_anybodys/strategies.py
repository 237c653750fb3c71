import torch


class Strategy:
    def broadcast(self, value):
        torch.distributed.broadcast_object_list([value], 0)  # clean
        return value

    def agree_on_value(self, value):
        torch.distributed.broadcast_object_list([value], 0)  # ASG103
        return value
