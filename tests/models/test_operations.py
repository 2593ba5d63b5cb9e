"""The count of operations, beside PyTorch's own count of the products that run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from cost import matrix_weights, recomputed
from torch.utils.flop_counter import FlopCounterMode
from update_profile import work_of

from dragoman.models import loops as native
from dragoman.models.operations import forward, training_step, translation
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.training.data.batches import Batch, collate
from dragoman.training.step.loss import LinearCrossEntropy, Objective
from dragoman.training.step.update import recompute_layers
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import MinimumLength

SMALL = {
    "source_vocab": 40, "target_vocab": 40, "d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 3,
    "decoder_layers": 2,
}  # fmt: skip
# Every option that could change the count.
OPTIONS = [
    {},
    {"activation": "swiglu"},
    {"activation": "gelu", "norm": "pre"},
    {"activation": "swish", "norm": "pre", "final_norm": False, "embedding_scale": False},
    {"activation": "quick-gelu", "positions": "sinusoidal-t2t"},
    {"encoder_layers": 1, "decoder_layers": 4},
    {"tie": "none", "source_vocab": 30, "output_bias": True, "attention_bias": True},
    {"window": 4},
    {"window": 20},
    {"attention_dropout": 0.1, "dropout": 0.2},
    {"kv_heads": 1, "norm_kind": "rms"},
    *({"positions": kind} for kind in ("learned", "index", "relative", "t5", "alibi", "rotary")),
]


@pytest.fixture(autouse=True)
def products_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PyTorch cannot count what the loops in C compute. The loss adds no rows to its blocks."""
    monkeypatch.setattr(LinearCrossEntropy, "ROUND", 1)
    was_on = native.enabled()
    native.disable()
    yield
    if was_on:
        native.enable()


def batch(source_len_B: Sequence[int], target_len_B: Sequence[int]) -> Batch:
    """Sentences of these lengths, the end token included."""
    return collate(
        [[5] * (length - 1) for length in source_len_B], [[6] * (length - 1) for length in target_len_B],
        pad_id=0, start_id=1, end_id=2,
    )  # fmt: skip


def counted(shape: TransformerConfig | SSRUConfig, one: Batch) -> tuple[int, int]:
    """PyTorch's count of the forward pass, and of both passes."""
    objective = Objective(Transformer(shape), 0.1)
    with FlopCounterMode(display=False) as counter:
        with torch.no_grad():
            objective.model(one.source_BS, one.source_len_B, one.target_BT)  # type: ignore[operator]
        in_forward = counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(objective(one)[0])
    return in_forward, counter.get_total_flops()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_what_pytorch_counts(options: dict[str, object]) -> None:
    """Lengths are whole blocks of a window, whose padding is not counted."""
    shape = TransformerConfig(**(SMALL | options))
    source_len_B, target_len_B = [80, 80, 80], [40, 40, 40]

    in_forward, in_both = counted(shape, batch(source_len_B, target_len_B))

    if "window" not in options:
        assert forward(shape, source_len_B, target_len_B) == in_forward
        assert training_step(shape, source_len_B, target_len_B) == in_both
    else:  # the target's 40 fill 48 slots in blocks of 16; the 80 and 40 are whole blocks of 20
        block = 16 if options["window"] == 4 else 20
        hidden = -40 % block
        extra = shape.decoder_layers * 3 * 4 * hidden * (shape.window + block - 1) * shape.d_model  # type: ignore[operator]
        assert forward(shape, source_len_B, target_len_B) + extra == in_forward
        assert training_step(shape, source_len_B, target_len_B) + 3 * extra == in_both


@pytest.mark.parametrize(
    "options",
    [{}, {"positions": "relative"}, {"window": 4}, {"tie": "none", "attention_bias": True}, {"kv_heads": 1}],
    ids=str,
)
def test_it_is_what_pytorch_counts_of_an_ssru(options: dict[str, object]) -> None:
    shape = SSRUConfig(**(SMALL | options))

    in_forward, in_both = counted(shape, batch([80, 80, 80], [40, 40, 40]))

    assert forward(shape, [80, 80, 80], [40, 40, 40]) == in_forward
    assert training_step(shape, [80, 80, 80], [40, 40, 40]) == in_both


def test_padding_is_counted_by_giving_padded_lengths() -> None:
    shape = TransformerConfig(**SMALL)
    source_len_B, target_len_B = [9, 4], [3, 7]

    in_forward, _ = counted(shape, batch(source_len_B, target_len_B))

    assert forward(shape, [9, 9], [7, 7]) == in_forward
    assert forward(shape, source_len_B, target_len_B) < in_forward


def test_it_is_the_sum_over_sentences() -> None:
    shape = TransformerConfig(**SMALL)

    together = forward(shape, [9, 4], [3, 7])

    assert together == forward(shape, [9], [3]) + forward(shape, [4], [7])


def test_by_hand() -> None:
    """One layer a side of width 2 and inner width 3; sources of 2 and 4 tokens, targets of 1 and 3."""
    shape = TransformerConfig(
        source_vocab=9, target_vocab=9, d_model=2, d_ff=3, heads=1, encoder_layers=1, decoder_layers=1
    )
    encoder = 6 * (4 * 4 + 2 * 6) + 2 * 2 * (2 * 2 + 4 * 4)  # weights; then the two products
    decoder = 4 * (6 * 4 + 2 * 6) + 6 * 2 * 4 + 2 * 2 * (1 * 1 + 3 * 3 + 1 * 2 + 3 * 4)
    output = 4 * 2 * 9

    assert forward(shape, [2, 4], [1, 3]) == 2 * (encoder + decoder + output)
    assert training_step(shape, [2, 4], [1, 3]) == 6 * (encoder + decoder + output)


def test_the_profile_counts_the_same_call_by_call() -> None:
    """The sum over the calls that PyTorch's profiler records, as `update_profile.py` counts them."""
    shape = TransformerConfig(**SMALL)
    one, objective = batch([8, 8], [6, 6]), Objective(Transformer(shape), 0.1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, acc_events=True
    ) as profile:
        torch.autograd.backward(objective(one)[0])

    total = sum(work_of(event.key, event.input_shapes or [])[0] for event in profile.events())

    assert total == training_step(shape, [8, 8], [6, 6])


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        *({}, {"activation": "swiglu"}, {"positions": "relative"}, {"decoder_layers": 4}, {"ssru": True}),
        *({"kv_heads": 1}, {"kv_heads": 1, "ssru": True}),
    ],
    ids=str,
)
def test_a_translation_has_the_products_of_the_search(options: dict[str, object], beam: int) -> None:
    """The source is read once, and every step has a row for each place of the beam, except the first."""
    kind = SSRUConfig if "ssru" in options else TransformerConfig
    shape = kind(**(SMALL | {name: value for name, value in options.items() if name != "ssru"}))
    request = Request(
        source=[5] * 6, how=Beam(size=beam, stop="full"), max_tokens=9, rules=(MinimumLength(9),)
    )
    with FlopCounterMode(display=False) as counter:
        list(PyTorchEngine(build_model(shape).eval()).search([request]))

    assert translation(shape, 7, 10, beam) == counter.get_total_flops()  # both with the end


def test_a_window_bounds_what_a_step_sees() -> None:
    narrow, wide = (TransformerConfig(**SMALL, window=n) for n in (2, 100))

    assert translation(narrow, 5, 30) < translation(wide, 5, 30)


@pytest.mark.parametrize("options", [{}, {"activation": "swiglu"}, {"encoder_layers": 4}], ids=str)
def test_computing_layers_again_costs_a_forward_pass_of_them(options: dict[str, object]) -> None:
    shape = TransformerConfig(
        **({"source_vocab": 40, "target_vocab": 40, "d_model": 64, "d_ff": 256} | options)
    )
    one = batch([30] * 4, [20] * 4)
    counts = []
    for again in (False, True):
        model = Transformer(shape)
        if again:
            recompute_layers(model)
        with FlopCounterMode(display=False) as counter:
            torch.autograd.backward(Objective(model, 0.1)(one)[0])
        counts.append(counter.get_total_flops())

    assert counts[0] == training_step(shape, [30] * 4, [20] * 4)
    assert counts[1] - counts[0] == recomputed(shape, [30] * 4, [20] * 4)


@pytest.mark.parametrize("options", [*OPTIONS, {"tie": "decoder", "source_vocab": 30}], ids=str)
def test_weights_in_matrices_are_those_of_the_model(options: dict[str, object]) -> None:
    shape = TransformerConfig(**(SMALL | options))
    model = Transformer(shape)
    matrices = {
        name: weight.numel()
        for name, weight in model.named_parameters()
        if weight.dim() > 1 and "positions" not in name
    }

    assert matrix_weights(shape) == sum(matrices.values())
