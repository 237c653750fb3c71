from unittest import TestCase

import torch
from metric import ScoreMetric


class ScoreMetricTest(TestCase):
    def test_scores(self):
        self._check_values(torch.rand(4), torch.rand(4))

    def _check_values(self, predicted, wanted):
        metric = ScoreMetric()
        for _ in range(3):
            metric.update(torch.rand(4), torch.rand(4))
        metric._update(torch.rand(4), torch.rand(4))
