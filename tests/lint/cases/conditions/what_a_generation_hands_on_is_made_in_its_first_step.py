import torch


class Net(torch.nn.Module):
    def prepare_inputs_for_generation(self, input_ids: torch.Tensor, delays=None, mask=None):
        if delays is None:
            input_ids, delays = self.delays_of(input_ids)
        if mask is not None:
            mask = mask[: input_ids.max().item()]  # ASG102
        return {"input_ids": input_ids, "delays": delays, "mask": mask}

    def delays_of(self, input_ids: torch.Tensor):
        return input_ids, input_ids.max().item()  # clean
