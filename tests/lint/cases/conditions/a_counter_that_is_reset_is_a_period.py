import torch


def train(model, loader, optimizer, period, times):
    since = last = step = due = shown = bound = 0
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        since += 1
        step += 1
        if since >= period:
            since = 0
            print(loss)  # clean
        if step - last >= period:
            last = step
            print(loss)  # clean
        if step > due:
            due += period
            print(loss)  # clean
        if step >= shown:
            shown = next(times)
            print(loss)  # clean
        if check_freq(period, step):
            print(loss)  # ASG101
        if step >= bound:
            bound = loss.item()  # ASG102
        if loss.item() >= 9:  # ASG102
            print(loss)  # ASG101
