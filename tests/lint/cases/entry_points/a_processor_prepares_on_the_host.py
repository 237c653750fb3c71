import torch


class ShapesImageProcessor:
    def preprocess(self, images: torch.Tensor):
        return images[images > 0]  # clean

    def post_process_boxes(self, outputs, scores: torch.Tensor):
        return scores[scores > 0]  # ASG105


@torch.no_grad()
def run(model: torch.nn.Module, processor: ShapesImageProcessor, loader):
    for images in loader:
        outputs = model(processor.preprocess(images))
        processor.post_process_boxes(outputs, outputs)
