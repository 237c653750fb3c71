# settings: min_probability=0.3
import torch


def decode(model, requests, plan):
    while requests:
        logits = model(plan.ids_gpu)
        if plan.length_gpu > 4:  # ASG104
            break
        print(plan.num_gpus > 1)  # clean
        requests = model.step(requests, logits)
