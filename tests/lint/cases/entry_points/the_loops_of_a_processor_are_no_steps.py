import torch


class ShapesImageProcessor:
    def preprocess(self, images: torch.Tensor):
        rows = []
        for batch_index in range(images.shape[0]):
            if images[batch_index].sum():  # clean
                rows.append(torch.matmul(images[batch_index], images[batch_index]))
        return rows

    def post_process_boxes(self, outputs, scores: torch.Tensor):
        return scores[scores > 0]  # ASG105


@torch.no_grad()
def run(model: torch.nn.Module, processor: ShapesImageProcessor, loader):
    for images in loader:
        processor.post_process_boxes(model(images), model(images))
