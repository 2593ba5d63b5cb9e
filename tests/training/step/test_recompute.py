"""Computing layers again: the same update, and less memory."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.small_runs import ALONE, config, corpus, model, moments, same, tokenizer, trainer, weights
from tests.training.step.test_update import batch
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.models import loops as native
from dragoman.models.lora import add_lora, lora_weights
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import ConvolutionalConfig, SSRUConfig
from dragoman.models.transformer import Transformer
from dragoman.training.step.update import Learner

SHAPES: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "activation": "swiglu", "attention_dropout": 0.1, "activation_dropout": 0.1},
    *({"positions": name} for name in ("learned", "relative", "t5", "alibi", "rotary")),
    {"window": 3},
]


def gradients(
    net: Transformer, recompute: bool, *, rank: int = 0, **options: Any
) -> tuple[list[Tensor], float]:
    """Of an update with dropout; of an adapter, if it has a rank."""
    net = copy.deepcopy(net)
    if rank:
        adapt(net, rank)
    learner = Learner(net, config(recompute=recompute, **options), ALONE)
    kept: list[Tensor] = []
    learner.optimizers[0].register_step_pre_hook(
        lambda *_: kept.extend(p.grad.clone() for p in learner.model.parameters() if p.grad is not None)
    )
    update = learner.update([batch(), batch()], 1, seed=3)
    return kept, update.loss


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_the_same_bit_for_bit(shape: dict[str, Any]) -> None:
    net = model(tokenizer(), dropout=0.3, encoder_layers=2, decoder_layers=2, **shape).double()

    one, other = gradients(net, False), gradients(net, True)

    assert one[1] == other[1]
    assert len(one[0]) == len(list(net.parameters()))
    assert all(map(torch.equal, one[0], other[0]))


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "bf16"},
        {"consistency": 2.0},
        {"alignment_weight": 0.05},
        {"alignment_weight": 0.05, "precision": "bf16"},
    ],
    ids=str,
)
def test_also_in_bf16_with_two_passes_and_with_alignment(options: dict[str, Any]) -> None:
    net = model(tokenizer(), dropout=0.3, encoder_layers=2, decoder_layers=3)

    one, other = gradients(net, False, **options), gradients(net, True, **options)

    assert one[1] == other[1]
    assert all(map(torch.equal, one[0], other[0]))


@pytest.mark.parametrize("options", [{}, {"precision": "bf16"}, {"alignment_weight": 0.05}], ids=str)
def test_also_of_an_adapter(options: dict[str, Any]) -> None:
    net = model(tokenizer(), dropout=0.3, encoder_layers=2, decoder_layers=3)

    one, other = gradients(net, False, rank=2, **options), gradients(net, True, rank=2, **options)

    assert one[1] == other[1]
    assert one[0]
    assert all(map(torch.equal, one[0], other[0]))


def test_also_with_the_loops_in_c() -> None:
    """They draw their own masks."""
    if not native.enable():
        pytest.skip("no C compiler")
    try:
        net = model(tokenizer(), dropout=0.3, encoder_layers=2, decoder_layers=2)
        one, other = gradients(net, False), gradients(net, True)
    finally:
        native.disable()

    assert all(map(torch.equal, one[0], other[0]))


def test_also_for_an_ssru() -> None:
    torch.manual_seed(1)
    net = build_model(
        SSRUConfig(
            source_vocab=14, target_vocab=14, d_model=16, d_ff=24, heads=2, encoder_layers=1, decoder_layers=2
        )
    )

    one, other = gradients(net, False), gradients(net, True)  # type: ignore[arg-type]

    assert all(map(torch.equal, one[0], other[0]))


def adapt(net: Transformer, rank: int) -> None:
    torch.manual_seed(4)
    add_lora(net, rank=rank, alpha=4.0)
    for parameter in lora_weights(net).values():
        torch.nn.init.normal_(parameter, std=0.1)  # one of each two is zeros at first


def kept_bytes(net: Transformer, recompute: bool) -> int:
    """Of what the backward pass needs, counted once each."""
    learner = Learner(copy.deepcopy(net), config(recompute=recompute), ALONE)
    learner.model.train()
    sizes: dict[int, int] = {}
    held: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        held.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        learner.objective(batch())
    own = {p.untyped_storage().data_ptr() for p in learner.model.parameters()}
    return sum(size for place, size in sizes.items() if place not in own)


@pytest.mark.parametrize("rank", [0, 2])
def test_layers_keep_nothing_but_their_input(rank: int) -> None:
    """Each of 16 layers keeps 16 numbers a position; without recomputing it keeps several hundred."""
    nets = [model(tokenizer(), dropout=0.1, encoder_layers=n, decoder_layers=n) for n in (1, 9)]
    if rank:
        for net in nets:
            adapt(net, rank)
    plain, lean = ([kept_bytes(net, again) for net in nets] for again in (False, True))

    slots = batch().source_BS.numel()
    added = [
        (many - few) / 8 / slots / 4 for few, many in (plain, lean)
    ]  # numbers a position and pair of layers
    assert added[0] > 400
    assert added[1] <= 40


def test_a_run_resumes_with_it_switched_on(tmp_path: Path) -> None:
    corpora = corpus(tmp_path / "train"), None
    plain, lean = (trainer(tmp_path / str(on), corpora, options=config(recompute=on)) for on in (False, True))
    for run in (plain, lean):
        run.train()

    assert same(weights(plain), weights(lean))
    assert same(moments(plain), moments(lean))


def test_only_transformers_have_it() -> None:
    with pytest.raises(ConfigError, match="training.recompute = true with model.architecture"):
        config(recompute=True).recomputing(ConvolutionalConfig())
