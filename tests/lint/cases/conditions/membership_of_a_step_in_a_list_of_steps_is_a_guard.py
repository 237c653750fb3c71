import torch


class Trainer:
    def fit(self, loader, key):
        for step, batch in enumerate(loader):
            loss = self.model(batch).sum()
            loss.backward()
            if step in self.save_steps:
                print(loss.item())  # clean


class Trainer2:
    def fit(self, loader, key):
        for step, batch in enumerate(loader):
            loss = self.model(batch).sum()
            loss.backward()
            if step not in self.save_steps:
                print(loss.item())  # ASG102


class Trainer3:
    def fit(self, loader, key):
        for step, batch in enumerate(loader):
            loss = self.model(batch).sum()
            loss.backward()
            if u.itstime(step, 100):
                print(loss.item())  # clean


class Trainer4:
    def fit(self, loader, key):
        for step, batch in enumerate(loader):
            loss = self.model(batch).sum()
            loss.backward()
            if key in self.keys:
                print(loss.item())  # ASG102
