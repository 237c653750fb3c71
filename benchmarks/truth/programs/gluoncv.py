"""GluonCV on MXNet: classifiers, detectors and segmenters, their losses and metrics."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np
import torch

from asyncguard.compat import restore_numpy_names

restore_numpy_names()
import mxnet as mx  # noqa: E402
from mxnet import autograd, gluon, nd  # noqa: E402

with mock.patch.object(torch, "__version__", "1.13.1"):  # it refuses newer ones, which it needs not
    from gluoncv import data, loss, model_zoo, nn, utils
    from gluoncv.utils import metrics

CLASSIFIERS = (
    "cifar_resnet20_v1", "cifar_resnet20_v2", "cifar_wideresnet16_10", "cifar_resnext29_32x4d",
    "cifar_residualattentionnet56", "resnet18_v1", "resnet18_v2", "resnet18_v1b", "resnext50_32x4d",
    "se_resnext50_32x4d", "se_resnet18_v1", "resnest14", "densenet121", "mobilenet0.25",
    "mobilenetv2_0.25", "mobilenetv3_small", "squeezenet1.0", "vgg11", "vgg11_bn", "alexnet",
    "googlenet", "xception", "senet_154", "residualattentionnet56", "nasnet_4_1056",
    "hrnet_w18_small_v1_c", "dla34", "inceptionv3", "shufflenet_v1",
)  # fmt: skip
SEGMENTERS = (
    "fcn_resnet50_ade", "psp_resnet50_ade", "deeplab_resnet50_ade", "fastscnn_citys",
    "deeplab_v3b_plus_wideresnet_citys", "danet_resnet50_citys", "icnet_resnet50_citys",
    "hrnet_w18_small_v1_s",
)  # fmt: skip
POSES = ("simple_pose_resnet18_v1b", "mobile_pose_mobilenet1.0")
VIDEOS = ("inceptionv1_kinetics400", "vgg16_ucf101", "resnet50_v1b_sthsthv2")
CLIPS = ("c3d_kinetics400", "p3d_resnet50_kinetics400", "i3d_inceptionv1_kinetics400")


def _begin() -> None:
    mx.random.seed(0)
    np.random.seed(0)


def _made(name: str, **options: Any) -> Any:
    _begin()
    model = model_zoo.get_model(name, pretrained=False, **options)
    model.initialize(mx.init.MSRAPrelu(), force_reinit=True)
    return model


def _first(made: Any) -> Any:
    while isinstance(made, list | tuple):
        made = made[0]
    return made


def _trained(name: str, shape: tuple[int, ...], options: dict[str, Any], device: str) -> list[Any]:
    model = _made(name, **options)
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.01})
    images = nd.random.uniform(shape=shape)
    measured = mx.metric.Loss()
    found = []
    for _ in range(2):
        with autograd.record():
            made = _first(model(images))
            value = (made**2).mean()
        value.backward()
        trainer.step(shape[0], ignore_stale_grad=True)
        measured.update(None, [value])
        found.append(measured.get()[1])
    return [*found, _first(model(images)).asnumpy()]


def _case(name: str, shape: tuple[int, ...], **options: Any) -> Any:
    return functools.partial(_trained, name, shape, options)


SIZES = {"inceptionv3": 299, "googlenet": 224, "nasnet_4_1056": 224}
CASES: dict[str, Any] = {}
for _name in CLASSIFIERS:
    _size = SIZES.get(_name, 32 if _name.startswith("cifar") else 64)
    CASES[_name] = _case(_name, (1, 3, _size, _size))
for _name in SEGMENTERS:
    CASES[_name] = _case(_name, (1, 3, 96, 96), pretrained_base=False, base_size=96, crop_size=96)
for _name in POSES:
    CASES[_name] = _case(_name, (1, 3, 64, 64), pretrained_base=False)
for _name in VIDEOS:
    CASES[_name] = _case(_name, (1, 3, 224, 224), pretrained_base=False)
for _name in CLIPS:
    CASES[_name] = _case(_name, (1, 3, 16, 112, 112), pretrained_base=False)


def classified(device: str) -> list[Any]:
    """A training as the scripts do it: mixed samples, smoothed labels, a schedule and metrics."""
    model = _made("cifar_resnet20_v1")
    model.hybridize()
    warm = utils.LRScheduler("linear", 0, 0.1, niters=2)
    rates = utils.LRSequential([warm, utils.LRScheduler("cosine", 0.1, 0, niters=2)])
    trainer = gluon.Trainer(model.collect_params(), "nag", {"lr_scheduler": rates})
    smooth = gluon.loss.SoftmaxCELoss(sparse_label=False)
    distilled = loss.DistillationSoftmaxCrossEntropyLoss(temperature=2, hard_weight=0.5)
    accuracy = mx.metric.Accuracy()
    images, labels = nd.random.uniform(shape=(4, 3, 32, 32)), nd.array([0, 1, 2, 3])
    history = utils.TrainingHistory(["error"])
    found = []
    for _ in range(3):
        with autograd.record():
            made = model(images)
            value = smooth(made, nd.one_hot(labels, 10)) + distilled(made, labels, made.softmax())
        value.backward()
        trainer.step(4)
        accuracy.update(labels, made)
        history.update([1 - accuracy.get()[1]])
        found.append(value.mean().asscalar())
    return found


def _targets(boxes: int = 2) -> Any:
    corner = nd.array([[[4, 4, 30, 30], [20, 20, 60, 60]]])[:, :boxes]
    return corner, nd.array([[[1], [2]]])[:, :boxes]


def ssd(device: str) -> list[Any]:
    """A one-shot detector: anchors, the loss with mined negatives, boxes."""
    model = _made("ssd_512_mobilenet1.0_voc", pretrained_base=False)
    images = nd.random.uniform(shape=(1, 3, 128, 128))
    multi = loss.SSDMultiBoxLoss()
    found = []
    for _ in range(2):
        with autograd.record():
            scores, shifts, _ = model(images)
            kinds = nd.zeros(scores.shape[:2])
            kinds[:, :3] = 1
            total, one, two = multi(scores, shifts, kinds, nd.zeros_like(shifts))
        autograd.backward(total)
        found += [total[0].asnumpy(), one[0].asnumpy(), two[0].asnumpy()]
    model.set_nms(0.45, 100)
    return [*found, *(each.asnumpy() for each in model(images))]


def _asked(name: str, device: str) -> list[Any]:
    model = _made(name, pretrained_base=False)
    return [each.asnumpy() for each in model(nd.random.uniform(shape=(1, 3, 128, 128)))]


CASES |= {
    name: functools.partial(_asked, name)
    for name in (
        "yolo3_mobilenet1.0_voc", "faster_rcnn_resnet50_v1b_voc", "center_net_resnet18_v1b_voc",
        "mask_rcnn_resnet18_v1b_coco",
    )
}  # fmt: skip


def measured(device: str) -> list[Any]:
    """Metrics of boxes, segments and poses."""
    _begin()
    boxes, ids = _targets()
    scores = nd.array([[[0.9], [0.6]]])
    found = []
    for metric in (
        metrics.VOC07MApMetric(0.5, ["a", "b", "c"]),
        metrics.VOCMApMetric(0.5, ["a", "b", "c"]),
    ):
        for _ in range(2):
            metric.update([boxes], [ids], [scores], [boxes], [ids], [nd.zeros((1, 2, 1))])
        found.append(metric.get())
    segments = metrics.SegmentationMetric(3)
    for _ in range(2):
        segments.update([nd.array(np.arange(32) % 3).reshape((1, 4, 8))],
                        [nd.random.uniform(shape=(1, 3, 4, 8))])  # fmt: skip
        found.append(segments.get())
    heat = metrics.HeatmapAccuracy()
    heat.update(
        [nd.random.uniform(shape=(1, 2, 8, 8))] * 2, [nd.random.uniform(shape=(1, 2, 8, 8))] * 2
    )
    return [*found, heat.get()]


def images_and_boxes(device: str) -> list[Any]:
    """What is done to images and boxes before and after models, by each kind of training."""
    _begin()
    image = nd.array(np.random.randint(0, 255, (120, 90, 3)), dtype="uint8")
    label = np.array([[4.0, 4.0, 60.0, 60.0, 1.0, 0.0], [30, 30, 80, 90, 2.0, 0.0]])
    corner = nd.array(label[None, :, :4])
    presets = data.transforms.presets
    found = [
        nn.matcher.MaximumMatcher(0.3)(nd.array([[[0.1, 0.5], [0.7, 0.2]]])),
        nn.bbox.BBoxCornerToCenter()(corner)[0],
        nn.bbox.BBoxBatchIOU()(corner, corner),
        nd.array(utils.bbox_iou(label[:, :4], label[:, :4])),
        presets.ssd.SSDDefaultTrainTransform(96, 96)(image, label)[0],
        presets.yolo.YOLO3DefaultTrainTransform(96, 96)(image, label)[0],
        presets.ssd.SSDDefaultValTransform(96, 96)(image, label)[0],
        presets.rcnn.FasterRCNNDefaultValTransform(96)(image, label)[0],
        presets.center_net.CenterNetDefaultTrainTransform(128, 128, 20)(image, label[:, :5])[0],
        presets.imagenet.transform_eval([image]),
    ]
    utils.viz.plot_bbox(image, corner[0], nd.array([0.9, 0.4]), nd.array([1, 2]))
    return [each.asnumpy() for each in found]
