import torch


class Base(torch.nn.Module):
    def full_sort_predict(self, users):
        raise NotImplementedError


class Model1(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model2(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model3(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model4(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model5(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model6(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model7(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model8(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model9(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model10(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model11(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model12(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model13(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model14(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model15(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model16(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model17(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model18(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model19(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model20(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model21(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model22(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model23(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model24(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model25(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model26(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model27(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model28(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model29(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model30(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model31(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model32(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model33(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model34(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model35(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model36(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model37(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model38(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model39(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model40(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model41(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model42(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model43(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model44(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102


class Model45(Base):
    def full_sort_predict(self, users):
        return self.net(users).max().item()  # ASG102
