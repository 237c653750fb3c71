"""Small data sets, made up in the formats that public training scripts read.

Each function writes one below a folder; all draw from the same seed, so that runs are alike.
"""

from __future__ import annotations

import json
import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ("the", "device", "waits", "host", "runs", "ahead", "reads", "value", "step", "loss")


def mnist(folder: Path, train: int = 192, test: int = 128, size: int = 28) -> None:
    """MNIST's four files of numbers, uncompressed, where torchvision looks for them."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(0)
    for prefix, count in (("train", train), ("t10k", test)):
        images = draw.integers(0, 256, (count, size, size), dtype=np.uint8)
        labels = draw.integers(0, 10, count, dtype=np.uint8)
        head = struct.pack(">IIII", 0x803, count, size, size)
        (raw / f"{prefix}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = struct.pack(">II", 0x801, count)
        (raw / f"{prefix}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())


def text(folder: Path, lines: int = 160) -> None:
    """Three files of sentences, as the word language model wants."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    for name, count in (("train", lines), ("valid", lines // 4), ("test", lines // 4)):
        rows = (" ".join(draw.choices(WORDS, k=12)) for _ in range(count))
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")


def tokens(folder: Path, count: int = 4096, vocabulary: int = 65) -> None:
    """Characters as numbers, and what they stand for, as nanoGPT prepares them."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(0)
    for name in ("train", "val"):
        draw.integers(0, vocabulary, count, dtype=np.uint16).tofile(folder / f"{name}.bin")
    symbols = [chr(33 + at) for at in range(vocabulary)]
    symbols[0] = "\n"
    meta = {
        "vocab_size": vocabulary,
        "itos": dict(enumerate(symbols)),
        "stoi": {symbol: at for at, symbol in enumerate(symbols)},
    }
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def words(folder: Path, count: int = 400) -> None:
    """Names, one a line."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    rows = ("".join(draw.choices("abcdefghij", k=draw.randint(3, 8))) for _ in range(count))
    (folder / "names.txt").write_text("\n".join(rows))


def images(folder: Path, each: int = 8, size: int = 64, splits: str = "train val") -> None:
    """Pictures in one folder a class."""
    image: Any = __import__("PIL.Image", fromlist=["Image"])
    draw = np.random.default_rng(0)
    for split in splits.split():
        for kind in ("0", "1"):
            place = folder / split / kind
            place.mkdir(parents=True, exist_ok=True)
            for at in range(each):
                pixels = draw.integers(0, 256, (size, size, 3), dtype=np.uint8)
                image.fromarray(pixels).save(place / f"{at}.png")


def segments(folder: Path, each: int = 6, size: int = 96) -> None:
    """Pictures for super resolution, where torchvision's BSDS300 example looks for them."""
    image: Any = __import__("PIL.Image", fromlist=["Image"])
    draw = np.random.default_rng(0)
    for split in ("train", "test"):
        place = folder / "BSDS300" / "images" / split
        place.mkdir(parents=True, exist_ok=True)
        for at in range(each):
            pixels = draw.integers(0, 256, (size + 200, size + 200, 3), dtype=np.uint8)
            image.fromarray(pixels).save(place / f"{at}.jpg")


def detection(folder: Path, each: int = 8, size: int = 64) -> None:
    """Pictures and boxes, as YOLO wants them, and the file that names them."""
    image: Any = __import__("PIL.Image", fromlist=["Image"])
    draw = np.random.default_rng(0)
    for split in ("train", "val"):
        for name in ("images", "labels"):
            (folder / name / split).mkdir(parents=True, exist_ok=True)
        for at in range(each):
            pixels = draw.integers(0, 256, (size, size, 3), dtype=np.uint8)
            image.fromarray(pixels).save(folder / "images" / split / f"{at}.png")
            boxes = draw.uniform(0.3, 0.7, (2, 4))
            rows = (f"{at % 2} " + " ".join(f"{part:.4f}" for part in box) for box in boxes)
            (folder / "labels" / split / f"{at}.txt").write_text("\n".join(rows))
    lines = (f"path: {folder.resolve()}", "train: images/train", "val: images/val", "nc: 2")
    (folder / "data.yaml").write_text("\n".join((*lines, "names: [cat, dog]", "")))


def instructions(folder: Path, count: int = 12) -> None:
    """Instructions with answers, as instruction tuning wants them."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    rows = [
        {
            "instruction": " ".join(draw.choices(WORDS, k=5)),
            "input": " ".join(draw.choices(WORDS, k=3)) if at % 2 else "",
            "output": " ".join(draw.choices(WORDS, k=4)),
        }
        for at in range(count)
    ]
    (folder / "instructions.json").write_text(json.dumps(rows))


def language_model(folder: Path) -> None:
    """A tiny GPT-2 of random weights, and a vocabulary of single bytes."""
    torch: Any = __import__("torch")
    models: Any = __import__("transformers")
    folder.mkdir(parents=True, exist_ok=True)
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]  # GPT-2 moves the others up
    symbols = [*map(chr, plain), *(chr(256 + at) for at in range(256 - len(plain)))]
    symbols.append("<|endoftext|>")
    vocabulary = {symbol: at for at, symbol in enumerate(symbols)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    settings = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    last = len(symbols) - 1
    sizes = {"n_positions": 256, "n_embd": 16, "n_layer": 2, "n_head": 2}
    config = models.GPT2Config(
        vocab_size=len(symbols), bos_token_id=last, eos_token_id=last, **sizes
    )
    models.GPT2LMHeadModel(config).save_pretrained(folder)


def coco(folder: Path, each: int = 4, size: int = 96) -> None:
    """Pictures with two boxes each, in COCO's format."""
    image: Any = __import__("PIL.Image", fromlist=["Image"])
    draw = np.random.default_rng(0)
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    kinds = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    for split in ("train2017", "val2017"):
        (folder / split).mkdir(exist_ok=True)
        images, boxes = [], []
        for at in range(each):
            name = f"{at}.png"
            pixels = draw.integers(0, 256, (size, size, 3), dtype=np.uint8)
            image.fromarray(pixels).save(folder / split / name)
            images.append({"id": at, "file_name": name, "width": size, "height": size})
            for kind in (1, 2):
                box = draw.integers(8, 40, 4).tolist()
                about = {"id": len(boxes) + 1, "image_id": at, "category_id": kind, "iscrowd": 0}
                boxes.append({**about, "bbox": box, "area": box[2] * box[3]})
        found = {"info": {}, "images": images, "annotations": boxes, "categories": kinds}
        (folder / "annotations" / f"instances_{split}.json").write_text(json.dumps(found))


def resnet(folder: Path) -> None:
    """A ResNet-18 of random weights, where torchvision keeps the trained one that it downloads."""
    torch: Any = __import__("torch")
    models: Any = __import__("torchvision.models", fromlist=["models"])
    place = folder / "hub" / "checkpoints"
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    name = Path(models.ResNet18_Weights.IMAGENET1K_V1.url).name
    torch.save(models.resnet18().state_dict(), place / name)


MAKERS: dict[str, Callable[[Path], None]] = {
    "mnist": mnist,
    "text": text,
    "tokens": tokens,
    "words": words,
    "images": images,
    "segments": segments,
    "detection": detection,
    "instructions": instructions,
    "language_model": language_model,
    "coco": coco,
    "resnet": resnet,
}
