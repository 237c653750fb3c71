"""torchmetrics' metrics over batches: counts, curves and aggregations."""

import torch
import torchmetrics as metrics

torch.manual_seed(0)
several = metrics.MetricCollection([
    metrics.classification.MulticlassAccuracy(5), metrics.classification.MulticlassAUROC(5),
    metrics.classification.MulticlassF1Score(5),
    metrics.classification.MulticlassConfusionMatrix(5),
    metrics.classification.MulticlassAveragePrecision(5),
])  # fmt: skip
for _ in range(4):
    several.update(torch.randn(16, 5).softmax(-1), torch.randint(0, 5, (16,)))
print({name: value.tolist() for name, value in several.compute().items()})
mean = metrics.MeanMetric()
mean.update(torch.tensor([1.0, float("nan"), 2.0]))
print(mean.compute())
