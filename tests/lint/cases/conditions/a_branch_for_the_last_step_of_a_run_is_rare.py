import torch


def train(args, model, loader, optimizer, warmup_steps):
    global_step = 0
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        global_step += 1
        if global_step >= args.max_steps or args.timeout_sent:
            print(loss.item())
        if args.total_steps < global_step:
            print(loss.item())
        if global_step < args.max_steps:
            print(loss.item())  # ASG102
        if global_step >= warmup_steps:
            print(loss.item())  # ASG102
