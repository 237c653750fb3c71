"""GluonNLP on MXNet: language models, BERT, attention, beams, embeddings, metrics."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from asyncguard.compat import restore_numpy_names

restore_numpy_names()
import gluonnlp as nlp  # noqa: E402
import mxnet as mx  # noqa: E402
from mxnet import autograd, gluon, nd  # noqa: E402

WORDS = nlp.Vocab(nlp.data.count_tokens([f"w{at % 30}" for at in range(200)]))


def _begin(model: Any) -> Any:
    mx.random.seed(0)
    np.random.seed(0)
    model.initialize(mx.init.Normal(0.1), force_reinit=True)
    return model


def _tokens(*shape: int) -> Any:
    return nd.array(np.random.RandomState(0).randint(0, 30, shape))


def _steps(model: Any, value: Any, optimizer: str = "adam", size: int = 2) -> list[Any]:
    trainer = gluon.Trainer(model.collect_params(), optimizer, {"learning_rate": 0.01})
    found = []
    for _ in range(2):
        with autograd.record():
            total = value()
        total.backward()
        trainer.allreduce_grads()
        nlp.utils.clip_grad_global_norm(
            [p for p in model.collect_params().values() if p.grad_req != "null"], 1.0
        )
        trainer.update(size, ignore_stale_grad=True)
        found.append(total.asnumpy())
    return found


def _detached(state: Any) -> Any:
    return [_detached(each) for each in state] if isinstance(state, list) else state.detach()


def _recurrent(kind: str, options: dict[str, Any], device: str) -> list[Any]:
    made = nlp.model.train.AWDRNN if options else nlp.model.train.StandardRNN
    model = _begin(made(kind, 31, 12, 12, 2, **(options or {"dropout": 0.2})))
    tokens, state = _tokens(6, 2), model.begin_state(batch_size=2, func=nd.zeros)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    weights = nlp.loss.ActivationRegularizationLoss(2.0)
    changes = nlp.loss.TemporalActivationRegularizationLoss(1.0)

    def value() -> Any:
        nonlocal state
        made, state, *rest = model(tokens, _detached(state))
        total = loss(made.reshape((-1, 31)), tokens.reshape((-1,))).mean()
        if rest and rest[1]:
            total = total + weights(*rest[1]).mean() + changes(*rest[0]).mean()
        return total

    return _steps(model, value, "sgd")


CASES: dict[str, Any] = {
    f"{'awd' if options else 'standard'} {kind}": functools.partial(_recurrent, kind, options)
    for kind in ("lstm", "gru", "rnn_relu")
    for options in ({}, {"tie_weights": True, "dropout": 0.2, "weight_drop": 0.2, "drop_h": 0.1})
}


def bert(device: str) -> list[Any]:
    """BERT, trained on masked words and the next sentence, and as a classifier."""
    encoder = nlp.model.BERTEncoder(
        num_layers=2, units=16, hidden_size=32, max_length=12, num_heads=2, dropout=0.1
    )
    model = _begin(
        nlp.model.BERTModel(
            encoder, 31, 2, 16, embed_size=16, use_decoder=True, use_classifier=True
        )
    )
    tokens, types, lengths = _tokens(2, 10), nd.zeros((2, 10)), nd.array([10, 6])
    places = nd.array([[1, 3], [2, 4]])
    loss = gluon.loss.SoftmaxCELoss()

    def value() -> Any:
        _, _, following, words = model(tokens, types, lengths, places)
        masked = nlp.metric.MaskedAccuracy()
        masked.update([nd.ones((4,))], [words.reshape((4, -1))], [nd.ones((4,))])
        return loss(following, nd.array([0, 1])).mean() + loss(words, nd.ones((2, 2))).mean()

    return [_steps(model, value, "bertadam"), model(tokens, types, lengths, places)[0].asnumpy()]


OPTIMIZERS = ("bertadam", "lamb", "lars")


def _optimized(name: str, device: str) -> list[Any]:
    model = _begin(gluon.nn.Dense(4, in_units=6))
    x = nd.array(np.random.RandomState(1).normal(size=(8, 6)))
    return _steps(model, lambda: (model(x) ** 2).mean(), name)


CASES |= {f"optimizer {name}": functools.partial(_optimized, name) for name in OPTIMIZERS}


def translated(device: str) -> list[Any]:
    """A transformer that translates, by teacher's words, by beams and by chance."""
    encoder, decoder, one_step = nlp.model.transformer.get_transformer_encoder_decoder(
        num_layers=1, num_heads=2, units=16, hidden_size=32, max_src_length=12, max_tgt_length=12
    )
    model = _begin(
        nlp.model.translation.NMTModel(
            WORDS,
            WORDS,
            encoder,
            decoder,
            one_step,
            embed_size=16,
            share_embed=True,
            tie_weights=True,
        )
    )
    tokens, lengths = _tokens(2, 8), nd.array([8, 5])
    loss = nlp.loss.MaskedSoftmaxCELoss()

    def value() -> Any:
        made, _ = model(tokens, tokens, lengths, lengths)
        return loss(made, tokens, lengths).mean()

    found: list[Any] = _steps(model, value)
    outputs, _ = model.encode(tokens, valid_length=lengths)
    states = model.decoder.init_state_from_encoder(outputs, lengths)
    for sampler in (
        nlp.model.BeamSearchSampler(2, lambda x, s: _logged(model, x, s), 3, max_length=5),
        nlp.model.SequenceSampler(2, lambda x, s: _logged(model, x, s), 3, max_length=5),
    ):
        samples, scores, valid = sampler(nd.array([2, 2]), states)
        found += [samples.asnumpy(), scores.asnumpy(), valid.asnumpy()]
    return found


def _logged(model: Any, token: Any, states: Any) -> Any:
    made, states, _ = model.decode_step(token, states)
    return made, states


def embedded(device: str) -> list[Any]:
    """Word vectors: trained ones of subwords, given ones, and how similar they are."""
    found = []
    vectors = nlp.embedding.TokenEmbedding(unknown_token="<unk>", allow_extend=True)
    for at in range(5):
        vectors[f"w{at}"] = nd.array(np.arange(4.0) + at)
    WORDS.set_embedding(vectors)
    found.append(WORDS.embedding["w1", "w9"].asnumpy())
    found.append(WORDS.embedding.idx_to_vec.sum().asscalar())
    near = nlp.embedding.evaluation.CosineSimilarity()
    analog = nlp.embedding.evaluation.ThreeCosAdd(WORDS.embedding.idx_to_vec)
    analog.initialize()
    found.append(near(nd.ones((2, 3)), nd.ones((2, 3))).asnumpy())
    found.append(analog(*(nd.array([at, at + 1]) for at in (4, 5, 6))).asnumpy())
    model = _begin(nlp.model.train.CSREmbeddingModel(WORDS.token_to_idx, 4))
    found.append(model[["w1", "w2"]].asnumpy())
    return found


def of_layers(device: str) -> list[Any]:
    """Encoders and attention, one after the other."""
    x = nd.array(np.random.RandomState(2).normal(size=(2, 5, 8)))
    found = []
    for name in ("multi_head", "scaled_luong", "mlp"):
        cell = (
            nlp.model.MultiHeadAttentionCell(nlp.model.DotProductAttentionCell(), 8, 8, 8, 2)
            if name == "multi_head"
            else nlp.model.DotProductAttentionCell(units=8, luong_style=False)
            if name == "scaled_luong"
            else nlp.model.MLPAttentionCell(8)
        )
        made, weights = _begin(cell)(x, x, mask=nd.ones((2, 5, 5)))
        found += [made.asnumpy(), weights.asnumpy()]
    high = _begin(nlp.model.Highway(8, 2))
    found.append(high(x.reshape((10, 8))).asnumpy())
    elmo = _begin(nlp.model.BiLMEncoder("lstmpc", 2, 8, 8, 0.1, True, 8, 3.0, 3.0))
    states = elmo.begin_state(mx.nd.zeros, batch_size=2)
    found.append(elmo(x.swapaxes(0, 1), states, nd.ones((5, 2)))[0].asnumpy())
    return found


def batches(device: str) -> list[Any]:
    """Batches by length, from a loader, measured by the metrics of the field."""
    lengths = [2, 5, 3, 8, 4, 6]
    rows = gluon.data.SimpleDataset([(np.arange(n), n % 2) for n in lengths])
    sampler = nlp.data.FixedBucketSampler(lengths, 2, num_buckets=2, shuffle=False)
    joined = nlp.data.batchify.Tuple(nlp.data.batchify.Pad(pad_val=0), nlp.data.batchify.Stack())
    found: list[Any] = [sampler.stats()]
    length = nlp.metric.LengthNormalizedLoss()
    for x, y in gluon.data.DataLoader(rows, batch_sampler=sampler, batchify_fn=joined):
        length.update([nd.array([len(x)]), nd.array([2])], [x.mean(axis=1).mean(), y])
        found.append(x.asnumpy())
    return [*found, length.get()]


def in_parallel(device: str) -> list[Any]:
    """A parallel step by threads."""
    model = _begin(gluon.nn.Dense(4, in_units=6))

    class Work(nlp.utils.Parallelizable):  # type: ignore[misc]
        def forward_backward(self, x: Any) -> Any:
            with autograd.record():
                value = model(x).mean()
            value.backward()
            return value

    many = nlp.utils.Parallel(2, Work())
    for at in range(3):
        many.put(nd.ones((2, 6)) * at)
    return sorted(float(many.get().asscalar()) for _ in range(3))
