"""Tiny encoders of sentences: losses, evaluators, encoding and training."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import sentence_transformers as st
import torch
import transformers
from sentence_transformers import util
from sentence_transformers.sentence_transformer import evaluation, losses, modules

TEXTS = ["a cat sat", "the dog ran", "a bird sang", "the cat ran", "a dog sat", "the bird flew"]
WORDS = sorted({word for text in TEXTS for word in text.split()})


def _encoder(folder: str, kind: type = transformers.BertModel, **given: Any) -> str:
    """A tiny model and its vocabulary in a folder."""
    torch.manual_seed(0)
    path = Path(folder)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (path / "vocab.txt").write_text("\n".join(names))
    transformers.BertTokenizer(str(path / "vocab.txt")).save_pretrained(folder)
    kind(transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=16, **given,
    )).save_pretrained(folder)  # fmt: skip
    return folder


def _model(device: str, mode: str = "mean") -> st.SentenceTransformer:
    with tempfile.TemporaryDirectory() as folder:
        words = modules.Transformer(_encoder(folder))
    pooling = modules.Pooling(words.get_embedding_dimension(), pooling_mode=mode)
    dense = modules.Dense(pooling.get_embedding_dimension(), 8)
    return st.SentenceTransformer(modules=[words, pooling, dense], device=device)


def _feed(model: Any, count: int, device: str) -> list[Any]:
    fed = []
    for at in range(count):
        made = model.tokenize([TEXTS[(at + each) % 6] for each in range(4)])
        fed.append({key: value.to(device) for key, value in made.items() if torch.is_tensor(value)})
    return fed


LOSSES: dict[str, tuple[int, Any, Any]] = {
    "CosineSimilarityLoss": (2, torch.tensor([0.1, 0.9, 0.4, 0.6]), losses.CosineSimilarityLoss),
    "CoSENTLoss": (2, torch.tensor([0.1, 0.9, 0.4, 0.6]), losses.CoSENTLoss),
    "AnglELoss": (2, torch.tensor([0.1, 0.9, 0.4, 0.6]), losses.AnglELoss),
    "ContrastiveLoss": (2, torch.tensor([0, 1, 0, 1]), losses.ContrastiveLoss),
    "OnlineContrastiveLoss": (2, torch.tensor([0, 1, 0, 1]), losses.OnlineContrastiveLoss),
    "MultipleNegativesRankingLoss": (3, None, losses.MultipleNegativesRankingLoss),
    "MultipleNegativesSymmetricRankingLoss": (2, None,
        losses.MultipleNegativesSymmetricRankingLoss),
    "CachedMultipleNegativesRankingLoss": (
        2, None, lambda m: losses.CachedMultipleNegativesRankingLoss(m, mini_batch_size=2)),
    "MegaBatchMarginLoss": (2, None, lambda m: losses.MegaBatchMarginLoss(m, mini_batch_size=2)),
    "TripletLoss": (3, None, losses.TripletLoss),
    "BatchAllTripletLoss": (1, torch.tensor([0, 0, 1, 1]), losses.BatchAllTripletLoss),
    "BatchHardTripletLoss": (1, torch.tensor([0, 0, 1, 1]), losses.BatchHardTripletLoss),
    "BatchHardSoftMarginTripletLoss": (
        1, torch.tensor([0, 0, 1, 1]), losses.BatchHardSoftMarginTripletLoss),
    "BatchSemiHardTripletLoss": (1, torch.tensor([0, 0, 1, 1]), losses.BatchSemiHardTripletLoss),
    "SoftmaxLoss": (2, torch.tensor([0, 1, 2, 1]), lambda m: losses.SoftmaxLoss(m, 8, 3)),
    "MSELoss": (1, torch.zeros(4, 8), losses.MSELoss),
    "MarginMSELoss": (3, torch.tensor([0.1, 0.9, 0.4, 0.6]), losses.MarginMSELoss),
    "DistillKLDivLoss": (3, torch.rand(4, 2), losses.DistillKLDivLoss),
    "MatryoshkaLoss": (2, None, lambda m: losses.MatryoshkaLoss(
        m, losses.MultipleNegativesRankingLoss(m), [8, 4])),
    "Matryoshka2dLoss": (2, None, lambda m: losses.Matryoshka2dLoss(
        m, losses.MultipleNegativesRankingLoss(m), [8, 4])),
    "ContrastiveTensionLoss": (2, torch.tensor([0, 1, 0, 1]), losses.ContrastiveTensionLoss),
    "GISTEmbedLoss": (2, None, lambda m: losses.GISTEmbedLoss(m, m)),
    "GlobalOrthogonalRegularizationLoss": (2, None, losses.GlobalOrthogonalRegularizationLoss),
}  # fmt: skip


def _lose(name: str, device: str) -> list[Any]:
    count, labels, make = LOSSES[name]
    model = _model(device)
    made = make(model).to(device)
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.01)
    labels = labels if labels is None else labels.to(device)
    found: list[Any] = []
    for _ in range(2):
        optimizer.zero_grad()
        value = made(_feed(model, count, device), labels)
        value = sum(value.values()) if isinstance(value, dict) else value
        value.backward()
        optimizer.step()
        found.append(value)
    return [*found, model.encode(TEXTS[:2])]


CASES: dict[str, Any] = {name: functools.partial(_lose, name) for name in LOSSES}
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def _pool(mode: str, device: str) -> list[Any]:
    return [_model(device, mode).encode(TEXTS, batch_size=4, convert_to_tensor=True)]


CASES |= {f"pool {mode}": functools.partial(_pool, mode) for mode in MODES}


def encode(device: str) -> list[Any]:
    """Embeddings in each form, of each precision, and how similar they are."""
    model = _model(device)
    found = [model.encode(TEXTS, precision=name) for name in ("float32", "int8", "ubinary")]
    tensors = model.encode(TEXTS, convert_to_tensor=True, normalize_embeddings=True)
    tokens = model.encode(TEXTS[:2], output_value="token_embeddings")
    return [*found, tensors, tokens, model.similarity(tensors, tensors),
            model.similarity_pairwise(tensors[:2], tensors[2:4]),
            model.encode(TEXTS[0], truncate_dim=4)]  # fmt: skip


def search(device: str) -> list[Any]:
    """The nearest sentences, paraphrases, communities and hard negatives."""
    vectors = _model(device).encode(TEXTS, convert_to_tensor=True)
    return [
        util.semantic_search(vectors[:2], vectors, top_k=3),
        util.community_detection(vectors, threshold=0.5, min_community_size=1),
        util.paraphrase_mining_embeddings(vectors, top_k=2),
        util.dot_score(vectors, vectors), util.euclidean_sim(vectors, vectors),
        util.manhattan_sim(vectors, vectors), util.pairwise_angle_sim(vectors, vectors.flip(0)),
        util.truncate_embeddings(vectors, 4),
    ]  # fmt: skip


def evaluate(device: str) -> list[Any]:
    """What each evaluator says of a model."""
    model = _model(device)
    corpus = dict(enumerate(TEXTS))
    corpus = {str(key): value for key, value in corpus.items()}
    made = [
        evaluation.EmbeddingSimilarityEvaluator(TEXTS[:4], TEXTS[2:], [0.1, 0.9, 0.4, 0.6]),
        evaluation.BinaryClassificationEvaluator(TEXTS[:4], TEXTS[2:], [0, 1, 0, 1]),
        evaluation.TripletEvaluator(TEXTS[:3], TEXTS[1:4], TEXTS[2:5]),
        evaluation.InformationRetrievalEvaluator(
            {"q": TEXTS[0]}, corpus, {"q": {"3"}}, accuracy_at_k=[1], precision_recall_at_k=[2]
        ),
        evaluation.ParaphraseMiningEvaluator(corpus, [("0", "4"), ("1", "3")]),
        evaluation.RerankingEvaluator(
            [{"query": TEXTS[0], "positive": [TEXTS[3]], "negative": TEXTS[4:]}]
        ),
        evaluation.TranslationEvaluator(TEXTS[:3], TEXTS[3:]),
    ]
    return [each(model) for each in made]


def ranker(device: str) -> list[Any]:
    """A model that sees both sentences at once."""
    with tempfile.TemporaryDirectory() as folder:
        kind = transformers.BertForSequenceClassification
        made = st.CrossEncoder(_encoder(folder, kind, num_labels=1), device=device)
        return [
            made.predict([(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])], convert_to_tensor=True),
            made.rank(TEXTS[0], TEXTS[1:], top_k=2),
        ]


def train(device: str) -> list[Any]:
    """Some steps by the library's trainer."""
    import datasets

    model = _model(device)
    data = datasets.Dataset.from_dict({"anchor": TEXTS[:4], "positive": TEXTS[2:]})
    with tempfile.TemporaryDirectory() as folder:
        told = st.SentenceTransformerTrainingArguments(
            folder, num_train_epochs=2, per_device_train_batch_size=2, report_to=[], seed=1,
            use_cpu=device == "cpu", save_strategy="no", logging_steps=1, disable_tqdm=True,
        )  # fmt: skip
        trainer = st.SentenceTransformerTrainer(
            model, told, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)
        )
        loss = trainer.train().training_loss
    return [loss, model.encode(TEXTS)]
