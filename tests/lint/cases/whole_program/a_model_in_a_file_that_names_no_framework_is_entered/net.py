from base import Base


class Net(Base):
    def forward(self, x, lengths):
        return self.layer(x)[:, : lengths.max().item()]  # ASG102
