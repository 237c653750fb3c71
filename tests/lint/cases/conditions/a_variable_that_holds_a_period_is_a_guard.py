import torch


def train(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due = self.logging and (step % 10 == 0 or step == self.last)
        if due:
            print(loss)  # clean


def train_2(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due = not step % 10
        if due:
            print(loss)  # clean


def train_3(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due: bool = step % 10 == 0
        if due:
            print(loss)  # clean


def train_4(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due = step % accumulation == 0
        if due:
            print(loss)  # ASG101


def train_5(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due = self.mode == "train"
        if due:
            print(loss)  # ASG101


def train_6(self, loader, accumulation):
    for step, batch in enumerate(loader):
        loss = self.model(batch).sum()
        loss.backward()
        due = step % 10 == 0
        due = self.always
        if due:
            print(loss)  # ASG101
