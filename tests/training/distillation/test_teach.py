"""The teachers' distributions: against a softmax over whole logits."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import Architecture, RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.training.data.batches import collate
from dragoman.training.distillation.teach import likely
from dragoman.training.step.loss import LinearCrossEntropy

VOCAB = 23
BATCH = collate([[4, 5, 6], [7]], [[8, 9], [10, 11, 12, 13, 14]], pad_id=0, start_id=1, end_id=2)


def model(config: Architecture, seed: int) -> AnySeq2Seq:
    torch.manual_seed(seed)
    return build_model(config).double().eval()


def transformer(seed: int, width: int = 8) -> AnySeq2Seq:
    shape: dict[str, Any] = {"d_model": width, "d_ff": 8, "heads": 2, "output_bias": True}
    return model(TransformerConfig(source_vocab=VOCAB, target_vocab=VOCAB, **shape), seed)


def by_hand(models: list[AnySeq2Seq], average: str, temperature: float) -> Tensor:
    real_BT = BATCH.predict_BT != 0
    p = []
    for one in models:
        memory = one.encode(BATCH.source_BS, BATCH.source_len_B)
        p.append(one.decode(BATCH.target_BT, memory)[real_BT].softmax(-1))
    if average == "probabilities":
        mean = cast(Tensor, sum(p)) / len(p)
    else:
        mean = torch.stack([one.log() for one in p]).mean(0).exp()
    shaped = mean ** (1 / temperature)
    return shaped / shaped.sum(-1, keepdim=True)


@pytest.mark.parametrize("average", ["log-probabilities", "probabilities"])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("number", [1, 2])
def test_likely_tokens(
    average: Any, temperature: float, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of different width; a block of 16 rows is smaller than nothing here, so a second test cuts."""
    monkeypatch.setattr(LinearCrossEntropy, "BLOCK", 1)
    models = [transformer(1), transformer(2, 12)][:number]

    with torch.inference_mode():
        ids_NK, p_NK = likely(models, BATCH, most=5, temperature=temperature, average=average)
        wanted_NV = by_hand(models, average, temperature)

    p_NK_wanted, ids_NK_wanted = wanted_NV.topk(5)
    assert ids_NK.tolist() == ids_NK_wanted.tolist()
    torch.testing.assert_close(p_NK.double(), p_NK_wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("temperature", [1e-40, 1e-300])
def test_the_lowest_temperature_leaves_the_likeliest_token(temperature: float) -> None:
    teacher = transformer(1).float()  # as teachers are
    with torch.inference_mode():
        ids_NK, p_NK = likely([teacher], BATCH, most=2, temperature=temperature, average="probabilities")
        wanted_NV = by_hand([teacher], "probabilities", 1.0)

    assert ids_NK[:, 0].tolist() == wanted_NV.argmax(1).tolist()
    assert p_NK.tolist() == [[1.0, 0.0]] * len(p_NK)


def test_a_teacher_without_probabilities_is_refused() -> None:
    teacher = transformer(1)
    next(teacher.parameters()).data.fill_(math.nan)

    with torch.inference_mode(), pytest.raises(ModelError, match="gives no probabilities"):
        likely([teacher], BATCH, most=2, temperature=1.0, average="probabilities")


@pytest.mark.parametrize("config", [SSRUConfig, RecurrentConfig])
def test_teachers_of_other_architectures(config: Any) -> None:
    shape = {"d_ff": 8, "heads": 2} if config is SSRUConfig else {"layers": 1}
    teacher = model(config(source_vocab=VOCAB, target_vocab=VOCAB, d_model=8, **shape), 3)

    with torch.inference_mode():
        ids_NK, _ = likely([teacher], BATCH, most=3, temperature=1.0, average="probabilities")
        wanted_NV = by_hand([teacher], "probabilities", 1.0)

    assert ids_NK.tolist() == wanted_NV.topk(3)[1].tolist()


def test_many_rows_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LinearCrossEntropy, "BLOCK", 1)  # 16 rows a block, the fewest
    pairs = [[4 + n % 7, 5] for n in range(30)]
    batch = collate(pairs, pairs, pad_id=0, start_id=1, end_id=2)
    teacher = transformer(1)
    sizes: list[int] = []
    teacher.logits.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))

    with torch.inference_mode():
        ids_NK, p_NK = likely([teacher], batch, most=VOCAB, temperature=1.0, average="probabilities")

    assert sizes == [16] * 5 + [10]
    assert ids_NK.shape == p_NK.shape == (90, VOCAB)
    torch.testing.assert_close(p_NK.sum(1), torch.ones(90, dtype=p_NK.dtype))
