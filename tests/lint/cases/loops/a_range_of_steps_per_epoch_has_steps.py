import tensorflow as tf


def collect(env, steps_per_epoch, epochs):
    for epoch in range(epochs):
        observation = env.reset()
        for t in range(steps_per_epoch):
            action = model(observation)
            observation, reward, done, _ = env.step(action[0].numpy())  # ASG103
        for _ in range(80):
            train_step(observation)


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


@tf.function
def train_step(batch):
    optimizer.apply_gradients(zip(model(batch), model.trainable_variables))
