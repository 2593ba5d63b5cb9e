"""LoRA against its formula, on models of every architecture."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.test_contract import CONFIGS
from torch import Tensor
from torch.func import functional_call

from dragoman.base.errors import ConfigError
from dragoman.models.adapter import AdapterShape
from dragoman.models.folder.merge import merge_lora, merged_matrices
from dragoman.models.folder.weights import weights_of
from dragoman.models.lora import add_lora, lora_shape, lora_weights
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import RecurrentConfig
from dragoman.training.data.batches import collate
from dragoman.training.step.loss import Objective
from dragoman.training.step.precision import working_copies

KINDS = [
    *("transformer", "transformer-marian", "transformer-swiglu", "transformer-rms-grouped", "ssru"),
    *("convolutional", "gru-additive"),
]
BATCH = collate([[3, 4, 5], [6, 7]], [[8, 9], [10, 11, 12]], pad_id=0, start_id=1, end_id=2)


def model_of(kind: str) -> Any:
    torch.manual_seed(3)
    return build_model(CONFIGS[kind]).double().eval()  # type: ignore[call-overload]


def learn(model: Any, seed: int = 1) -> None:
    """Give the adapter weights as if it had learnt."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in lora_weights(model).values():
            parameter.copy_(torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator) / 3)


def adapted(kind: str, **options: Any) -> Any:
    model = model_of(kind)
    add_lora(model, **({"rank": 2, "alpha": 3.0} | options))
    learn(model)
    return model


@torch.no_grad()
def logits(model: Any) -> Tensor:
    out: Tensor = model(BATCH.source_BS, BATCH.source_len_B, BATCH.target_BT)
    return out


@torch.no_grad()
def logits_by_steps(model: Any) -> Tensor:
    state = model.start(model.encode(BATCH.source_BS, BATCH.source_len_B), 9)
    outputs = []
    for token_N in BATCH.target_BT.unbind(1):
        logits_NV, state = model.step(token_N, state)
        outputs.append(logits_NV)
    return torch.stack(outputs, 1)


def by_formula(weights: dict[str, Tensor], adapter: dict[str, Any], alpha: float) -> dict[str, Tensor]:
    """W + (alpha / rank) B A: W^Q, W^K and W^V in `project` are matrices with an A and a B each."""
    result = dict(weights)
    for name, up in adapter.items():
        if not name.endswith(".lora.up"):
            continue
        layer = name.removesuffix(".lora.up")
        b, a = up.detach().numpy(), adapter[f"{layer}.lora.down"].detach().numpy()
        rank, width, change = b.shape[1], a.shape[1], np.zeros((b.shape[0], a.shape[1]))
        for row in range(len(b)):
            matrix = 0
            if layer.endswith("project") and row >= width:
                matrix = 1 if row < width + (len(b) - width) // 2 else 2
            for r in range(rank):
                change[row] += alpha / rank * b[row, r] * a[matrix * rank + r]
        result[f"{layer}.weight"] = weights[f"{layer}.weight"] + torch.from_numpy(change)
    return result


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_new_adapter_changes_no_output(kind: str) -> None:
    model = model_of(kind)
    before = logits(model)

    learned = add_lora(model, rank=2, alpha=4.0)

    assert torch.equal(logits(model), before)
    assert {id(p) for p in model.parameters() if p.requires_grad} == {id(p) for p in learned}
    assert {name: tuple(p.shape) for name, p in lora_weights(model).items()} == AdapterShape(
        rank=2, alpha=4.0
    ).weights({name: tuple(w.shape) for name, w in weights_of(model_of(kind)).items()})


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_is_that_of_the_formula(kind: str) -> None:
    model, base = adapted(kind), model_of(kind)
    changed = by_formula(weights_of(base), lora_weights(model), alpha=3.0)

    expected = functional_call(base, changed, (BATCH.source_BS, BATCH.source_len_B, BATCH.target_BT))

    assert not torch.allclose(expected, logits(base))
    torch.testing.assert_close(logits(model), expected)
    torch.testing.assert_close(logits_by_steps(model), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_merging_keeps_the_output_and_leaves_no_trace(kind: str) -> None:
    model, base = adapted(kind), model_of(kind)
    before, adapter = logits(model), dict(lora_weights(model))

    merge_lora(model)

    torch.testing.assert_close(logits(model), before)
    assert list(weights_of(model)) == list(weights_of(base))
    assert not lora_weights(model)
    elsewhere = weights_of(base) | merged_matrices(weights_of(base), adapter, 3.0 / 2)
    assert all(torch.equal(weight, elsewhere[name]) for name, weight in weights_of(model).items())
    add_lora(model, rank=1, alpha=1.0)
    torch.testing.assert_close(logits(model), before)  # the hooks of the first adapter are gone


def test_merging_half_precision_rounds_once() -> None:
    weight = torch.full((2, 2), 1.0, dtype=torch.bfloat16)
    down, up = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0**-8], [2.0**-9]])

    result = merged_matrices({"a.weight": weight}, {"a.lora.down": down, "a.lora.up": up}, 1.0)["a.weight"]

    exact = 1 + torch.tensor([[2.0**-8, 3 * 2.0**-8], [2.0**-9, 3 * 2.0**-9]])
    assert torch.equal(result, exact.to(torch.bfloat16))


def test_an_adapter_on_attention_leaves_the_feed_forward_networks() -> None:
    model = model_of("transformer")

    add_lora(model, rank=1, alpha=1.0, on=("attention",))

    layers = {name.split(".lora.")[0] for name in lora_weights(model)}
    assert {name.rpartition(".")[2] for name in layers} == {"project", "output"}
    assert len(layers) == 2 * 2 + 2 * 2 * 2  # each layer: self-attention; in the decoder also to the source
    assert lora_shape(model) == AdapterShape(rank=1, alpha=1.0, on=("attention",))


@pytest.mark.parametrize("kind", KINDS)
def test_bf16_copies_train_the_adapter_alone(kind: str) -> None:
    model = adapted(kind).float().train()
    objective = Objective(model, 0.1)

    loss, _ = functional_call(objective, working_copies(objective), (BATCH,))
    loss.backward()

    learned = lora_weights(model)
    assert all(weight.grad is not None and bool(weight.grad.any()) for weight in learned.values())
    assert all(p.grad is None for name, p in model.named_parameters() if name not in learned)


def test_a_copy_of_an_adapted_model_has_an_adapter_of_its_own() -> None:
    model = adapted("transformer")
    before = logits(model)
    other = copy.deepcopy(model)

    merge_lora(other)
    learn(model, seed=2)

    torch.testing.assert_close(logits(other), before)
    assert not torch.allclose(logits(model), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "adapter.rank = 0"),
        ({"rank": 1.5}, "adapter.rank = 1.5"),
        ({"alpha": 0.0}, "adapter.alpha = 0.0"),
        ({"alpha": float("nan")}, "adapter.alpha = nan"),
        ({"on": ()}, r"adapter.on = \[\]"),
        ({"on": ("attention", "attention")}, r'adapter.on = \["attention", "attention"\]'),
        ({"on": ("embeddings",)}, r'adapter.on = \["embeddings"\]'),
    ],
)
def test_values_that_cannot_be_used_are_refused(options: dict[str, Any], message: str) -> None:
    model = model_of("transformer")

    with pytest.raises(ConfigError, match=message):
        add_lora(model, **({"rank": 2, "alpha": 2.0} | options))

    assert not lora_weights(model)
    assert all(p.requires_grad for p in model.parameters())


def test_a_second_adapter_is_refused() -> None:
    model = adapted("ssru")

    with pytest.raises(ConfigError, match="has an adapter already"):
        add_lora(model, rank=2, alpha=2.0)


def test_a_model_without_an_adapter_has_no_shape_of_one() -> None:
    with pytest.raises(ConfigError, match="has no adapter"):
        lora_shape(model_of("transformer"))


def test_a_model_without_such_layers_is_refused_and_stays() -> None:
    model = build_model(RecurrentConfig(source_vocab=9, target_vocab=9, d_model=4, attention="none"))
    with pytest.raises(ConfigError, match="no linear layer in attention"):
        add_lora(model, rank=2, alpha=4, on=("attention",))
    assert all(parameter.requires_grad for parameter in model.parameters())
