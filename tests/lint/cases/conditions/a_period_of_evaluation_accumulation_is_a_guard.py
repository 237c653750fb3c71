import torch


def evaluate(loader, model, args):
    for step, x in enumerate(loader):
        y = model(x.cuda(non_blocking=True))
        if args.keep:
            pass
        elif args.eval_accumulation_steps is not None and (step + 1) % args.eval_accumulation_steps == 0:
            print(y.cpu())  # clean
        if (step + 1) % args.accumulation_steps == 0:
            print(y.cpu())  # ASG103
