import torch
from monai.transforms import MapTransform


class Mix(MapTransform):
    def __call__(self, data):
        volume = torch.as_tensor(data["volume"])
        return self.mixed(volume)

    def mixed(self, volume):
        if volume.max() > 1:  # clean
            volume = volume[volume > 1]
        return volume
