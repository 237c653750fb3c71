from tensorflow.keras.layers import Dense


layer = Dense(8)


def build(x, count):
    for _ in range(count):
        y = Dense(8)(x)
        print(y)  # clean
        x = y


def build_2(x, count):
    for _ in range(count):
        y = layer(x)
        print(y)  # ASG101
        x = y
