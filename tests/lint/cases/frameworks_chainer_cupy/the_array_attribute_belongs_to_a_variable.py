import chainer


def update(optimizer, values, rewards):
    loss = 0
    for value, reward in zip(values, rewards):
        loss += (value - reward) ** 2
        history.append(float(value.array))  # ASG102
    loss.backward()
    optimizer.update()
