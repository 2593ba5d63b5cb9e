"""The loss against torch.nn.functional.cross_entropy in float64, values and gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.models import loops as native
from dragoman.models.layers.embeddings import CLOSED
from dragoman.models.layers.embeddings import close as shut
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.training.data.batches import collate
from dragoman.training.distillation.loss import TaughtRows, padded
from dragoman.training.step.halving import halves
from dragoman.training.step.loss import (
    LinearCrossEntropy,
    Objective,
    Output,
    linear_cross_entropy,
    smoothed_cross_entropy,
)

F64 = torch.float64
VOCAB, WIDTH = 11, 6


def divergence(logits_NV: Tensor) -> Tensor:
    """Of the two halves of the rows, by PyTorch."""
    first, second = logits_NV.log_softmax(-1).chunk(2)
    both = ((first, second), (second, first))
    return sum(functional.kl_div(a, b, reduction="sum", log_target=True) for a, b in both) / 2


def taught_cross_entropy(hard: Tensor, logits_NV: Tensor, taught: TaughtRows) -> Tensor:
    """The loss `hard` of the targets, mixed with the cross-entropy with what teachers say."""
    logp_NV = logits_NV.log_softmax(-1)
    p_NK = taught.p_NK.to(logp_NV.dtype)
    soft_N = (p_NK * logp_NV.gather(1, taught.ids_NK)).sum(1) + (1 - p_NK.sum(1)) * logp_NV.mean(1)
    return (1 - taught.share) * hard - taught.share * soft_N.sum()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 rows a block, the smallest there is."""
    monkeypatch.setattr(LinearCrossEntropy, "BLOCK", 1)


def randn(*shape: int, seed: int, dtype: torch.dtype = F64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def problem(rows: int, *, bias: bool = True) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    states_NE, weight_VE = randn(rows, WIDTH, seed=1), randn(VOCAB, WIDTH, seed=2)
    bias_V = randn(VOCAB, seed=3) if bias else None
    target_N = torch.randint(VOCAB, (rows,), generator=torch.Generator().manual_seed(4))
    for tensor in (states_NE, weight_VE, bias_V):
        if tensor is not None:
            tensor.requires_grad_()
    return states_NE, weight_VE, bias_V, target_N


def linear_loss(*inputs: Any) -> tuple[Tensor, Tensor]:
    loss, nll = LinearCrossEntropy.apply(*inputs)  # type: ignore[no-untyped-call]
    return loss, nll


def by_pytorch(logits_NV: Tensor, target_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    loss = functional.cross_entropy(logits_NV, target_N, label_smoothing=smoothing, reduction="sum")
    return loss, functional.cross_entropy(logits_NV, target_N, reduction="sum")


def close(got: object, wanted: object, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_readable_form_is_pytorch_s(smoothing: float) -> None:
    logits_NV = randn(7, VOCAB, seed=5).requires_grad_()
    target_N = torch.tensor([0, 1, 2, 3, 10, 10, 5])

    got, wanted = (
        smoothed_cross_entropy(logits_NV, target_N, smoothing),
        by_pytorch(logits_NV, target_N, smoothing),
    )

    close(got, wanted)
    close(torch.autograd.grad(got[0], logits_NV), torch.autograd.grad(wanted[0], logits_NV))


def test_by_hand() -> None:
    """Two words at odds of 3 to 1 and smoothing of 0.2: the target distribution is (0.9, 0.1)."""
    logits_NV = torch.tensor([[math.log(3), 0.0]], dtype=F64)

    loss, nll = smoothed_cross_entropy(logits_NV, torch.tensor([0]), 0.2)

    assert float(nll) == pytest.approx(math.log(4 / 3))
    assert float(loss) == pytest.approx(0.9 * math.log(4 / 3) + 0.1 * math.log(4))


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 70])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_block_by_block_is_the_same(rows: int, bias: bool, smoothing: float) -> None:
    states_NE, weight_VE, bias_V, target_N = problem(rows, bias=bias)
    inputs = [states_NE, weight_VE] + ([] if bias_V is None else [bias_V])

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, smoothing)
    wanted = by_pytorch(functional.linear(states_NE, weight_VE, bias_V), target_N, smoothing)

    close(got, wanted)
    close(torch.autograd.grad(got[0] / 7, inputs), torch.autograd.grad(wanted[0] / 7, inputs))


@pytest.mark.parametrize("pairs", [1, 31, 32, 33, 70])
@pytest.mark.parametrize("bias", [False, True])
def test_two_passes_are_pulled_together(pairs: int, bias: bool) -> None:
    """R-Drop: both passes' cross-entropy, and the weighted mean of the two KL divergences."""
    states_NE, weight_VE, bias_V, target_N = problem(2 * pairs, bias=bias)
    target_N = target_N[:pairs].repeat(2)
    inputs = [states_NE, weight_VE] + ([] if bias_V is None else [bias_V])

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1, 5.0)
    logits_NV = functional.linear(states_NE, weight_VE, bias_V)
    loss, nll = by_pytorch(logits_NV, target_N, 0.1)
    wanted = loss + 5.0 * divergence(logits_NV), nll

    close(got, wanted)
    close(torch.autograd.grad(got[0] / 7, inputs), torch.autograd.grad(wanted[0] / 7, inputs))


def test_two_equal_passes_cost_nothing_more() -> None:
    """Without dropout the passes are one, and their mean loss is that of one."""
    config = TransformerConfig(source_vocab=9, target_vocab=9, d_model=8, d_ff=8, heads=2, dropout=0.0)
    batch = collate([[4, 5], [6]], [[5], [7, 8]], pad_id=0, start_id=1, end_id=2)
    model = build_model(config)

    close(Objective(model, 0.1, 3.0)(batch), Objective(model, 0.1)(batch), 1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_gradcheck(bias: bool) -> None:
    states_NE, weight_VE, bias_V, target_N = problem(18, bias=bias)

    def loss(states_NE: Tensor, weight_VE: Tensor, bias_V: Tensor | None) -> Tensor:
        return linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1)[0]

    assert torch.autograd.gradcheck(loss, (states_NE, weight_VE, bias_V))


@pytest.mark.parametrize("block", [1, 40 * VOCAB, 2**21])
def test_the_size_of_a_block_does_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    states_NE, weight_VE, bias_V, target_N = problem(70)
    monkeypatch.setattr(LinearCrossEntropy, "BLOCK", block)

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1)

    close(got, by_pytorch(functional.linear(states_NE, weight_VE, bias_V), target_N, 0.1))


class Products(TorchDispatchMode):
    """The numbers of rows of the matrix products within the block."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: set[int] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten.mm.default:
            self.rows.add(len(args[0]))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("consistency", [0.0, 3.0])
def test_batches_of_many_sizes_share_the_shapes_of_few_products(
    consistency: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oneDNN prepares the products of each shape anew, and keeps them."""
    monkeypatch.setattr(LinearCrossEntropy, "BLOCK", 2**24)
    with Products() as products:
        for rows in range(100, 300, 2):
            states_NE, weight_VE, bias_V, target_N = problem(rows)
            linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1, consistency)

    assert 1 < len(products.rows) <= 8 + 1  # and the rows of the gradient of the weights


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_coarser_numbers_come_close(dtype: torch.dtype, tolerance: float) -> None:
    """Weights stay in float32, as they do in training; the states say what is computed in."""
    states_NE, weight_VE, bias_V, target_N = problem(200)
    assert bias_V is not None
    coarse = [states_NE.detach().to(dtype), weight_VE.detach().float(), bias_V.detach().float()]
    for tensor in coarse:
        tensor.requires_grad_()

    got, got_nll = linear_loss(*coarse, target_N, 0.1)
    wanted, wanted_nll = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1)

    assert got.dtype == torch.float32
    assert float(got.detach()) == pytest.approx(float(wanted.detach()), rel=tolerance)
    assert float(got_nll) == pytest.approx(float(wanted_nll), rel=tolerance)
    gradients = torch.autograd.grad(got, coarse)
    for g, tensor, w in zip(
        gradients, coarse, torch.autograd.grad(wanted, [states_NE, weight_VE, bias_V]), strict=True
    ):
        assert g.dtype == tensor.dtype
        assert float((g - w).norm() / w.norm()) < tolerance


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_target_of_vanishing_probability_has_its_full_loss(dtype: torch.dtype) -> None:
    """800 nats is e^-800, which is 0 in any precision."""
    weight_VE = torch.tensor([[0.0], [1.0], [0.5]], dtype=dtype)
    states_NE = torch.tensor([[800.0], [1.0]], dtype=dtype)
    target_N = torch.tensor([0, 1])

    got = linear_loss(states_NE, weight_VE, None, target_N, 0.1)

    close(got, by_pytorch(states_NE @ weight_VE.T, target_N, 0.1), 1e-5)
    assert float(got[1]) > 800


def test_the_negative_log_likelihood_is_not_to_train_on() -> None:
    loss, nll = linear_loss(*problem(20), 0.1)

    assert loss.requires_grad
    assert not nll.requires_grad


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_says_so(bad: float) -> None:
    states_NE, weight_VE, bias_V, target_N = problem(20)
    with torch.no_grad():
        states_NE[3, 2] = bad

    loss, nll = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1)

    assert not math.isfinite(float(loss.detach()))
    assert not math.isfinite(float(nll))
    assert not bool(torch.autograd.grad(loss, weight_VE)[0].isfinite().all())


# Teachers


def lessons(rows: int, most: int = 4, *, share: float = 0.7, seed: int = 6) -> TaughtRows:
    """The likeliest tokens of a random distribution at each position."""
    p_NV = (2 * randn(rows, VOCAB, seed=seed)).softmax(-1)
    p_NK, ids_NK = p_NV.topk(most)
    return TaughtRows(ids_NK, p_NK, share)


def by_dense_targets(
    logits_NV: Tensor, target_N: Tensor, smoothing: float, taught: TaughtRows
) -> tuple[Tensor, Tensor]:
    """Cross-entropy with a target distribution that is written out over the vocabulary."""
    one_hot_NV = functional.one_hot(target_N, VOCAB).to(F64)
    hard_NV = (1 - smoothing) * one_hot_NV + smoothing / VOCAB
    soft_NV = torch.zeros_like(one_hot_NV).scatter_(1, taught.ids_NK, taught.p_NK)
    soft_NV += (1 - soft_NV.sum(1, keepdim=True)) / VOCAB
    wanted_NV = (1 - taught.share) * hard_NV + taught.share * soft_NV
    loss = functional.cross_entropy(logits_NV, wanted_NV, reduction="sum")
    return loss, functional.cross_entropy(logits_NV, target_N, reduction="sum")


@pytest.mark.parametrize("rows", [1, 16, 17, 50])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("smoothing", "share"), [(0.0, 0.7), (0.1, 0.7), (0.1, 1.0), (0.1, 0.0)])
def test_teachers_have_a_share_of_the_loss(rows: int, bias: bool, smoothing: float, share: float) -> None:
    states_NE, weight_VE, bias_V, target_N = problem(rows, bias=bias)
    inputs = [states_NE, weight_VE] + ([] if bias_V is None else [bias_V])
    taught = lessons(rows, share=share)

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, smoothing, 0.0, taught)
    logits_NV = functional.linear(states_NE, weight_VE, bias_V)
    wanted = by_dense_targets(logits_NV, target_N, smoothing, taught)

    close(got, wanted)
    close(torch.autograd.grad(got[0] / 7, inputs), torch.autograd.grad(wanted[0] / 7, inputs))


def test_teachers_teach_both_passes_of_r_drop() -> None:
    states_NE, weight_VE, bias_V, target_N = problem(40)
    assert bias_V is not None
    target_N = target_N[:20].repeat(2)
    taught = lessons(20)
    both = TaughtRows(taught.ids_NK.repeat(2, 1), taught.p_NK.repeat(2, 1), taught.share)
    inputs = [states_NE, weight_VE, bias_V]

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1, 5.0, taught)
    logits_NV = functional.linear(states_NE, weight_VE, bias_V)
    loss, nll = by_dense_targets(logits_NV, target_N, 0.1, both)
    wanted = loss + 5.0 * divergence(logits_NV), nll

    close(got, wanted)
    close(torch.autograd.grad(got[0], inputs), torch.autograd.grad(wanted[0], inputs))


def test_a_teacher_that_is_sure_of_the_target_changes_nothing() -> None:
    """Its distribution is that of plain training without smoothing."""
    states_NE, weight_VE, bias_V, target_N = problem(50)
    assert bias_V is not None
    sure = TaughtRows(target_N[:, None], torch.ones(50, 1, dtype=F64), 0.4)
    inputs = [states_NE, weight_VE, bias_V]

    got = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.0, 0.0, sure)
    wanted = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.0)

    close(got, wanted)
    close(torch.autograd.grad(got[0], inputs), torch.autograd.grad(wanted[0], inputs))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("loops", [False, True])
def test_teachers_in_coarser_numbers(dtype: torch.dtype, tolerance: float, loops: bool) -> None:
    if loops and not native.enable():
        pytest.skip("no C compiler")
    states_NE, weight_VE, bias_V, target_N = problem(200)
    assert bias_V is not None
    coarse = [states_NE.detach().to(dtype), weight_VE.detach().float(), bias_V.detach().float()]
    for tensor in coarse:
        tensor.requires_grad_()
    taught = lessons(200)
    rough = TaughtRows(taught.ids_NK, taught.p_NK.float(), taught.share)

    got, _ = linear_loss(*coarse, target_N, 0.1, 0.0, rough)
    wanted, _ = linear_loss(states_NE, weight_VE, bias_V, target_N, 0.1, 0.0, taught)

    assert float(got.detach()) == pytest.approx(float(wanted.detach()), rel=tolerance)
    gradients = torch.autograd.grad(got, coarse)
    for g, w in zip(gradients, torch.autograd.grad(wanted, [states_NE, weight_VE, bias_V]), strict=True):
        assert float((g - w).norm() / w.norm()) < tolerance


def test_the_halves_of_a_batch_keep_what_they_are_taught() -> None:
    """Pairs of different lengths, so that the halves are padded otherwise than the whole."""
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocab=VOCAB, target_vocab=VOCAB, d_model=8, d_ff=8, heads=2, dropout=0.0
    )
    targets = [[7], [8, 9, 10, 4], [5, 6], [3]]
    numbers = np.random.default_rng(0)
    lesson = [np.zeros((len(target) + 1, 3), [("id", "<u2"), ("p", "<f2")]) for target in targets]
    for one in lesson:
        one["id"] = [numbers.permutation(VOCAB)[:3] for _ in one]
        one["p"] = numbers.uniform(0, 0.3, one.shape)
    plain = collate([[4, 5], [6], [7, 8], [9]], targets, pad_id=0, start_id=1, end_id=2)
    objective = Objective(build_model(config).double(), 0.1)

    batch = replace(plain, taught=padded(lesson, 0.7))
    parts = [objective(half) for half in halves(batch, 0)]

    close(objective(batch)[0], parts[0][0] + parts[1][0])
    assert float(objective(batch)[0].detach()) != pytest.approx(float(objective(plain)[0].detach()), rel=1e-3)
    close(objective(batch)[1], objective(plain)[1])


# Closed tokens


def output(*, kept: Sequence[int], targets: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Output]:
    """States, weights and bias that require gradients, and the output layer with all other tokens closed."""
    states_NE = randn(len(targets), WIDTH, seed=1).requires_grad_()
    weight_VE = randn(VOCAB, WIDTH, seed=2).requires_grad_()
    bias_V = torch.full((VOCAB,), CLOSED, dtype=F64)
    bias_V[list(kept)] = randn(len(kept), seed=3)
    bias_V.requires_grad_()
    return states_NE, weight_VE, bias_V, Output(weight_VE, bias_V, torch.tensor(targets))


def loss_of(states_NE: Tensor, output: Output) -> Tensor:
    return linear_cross_entropy(
        states_NE, output.weight_VE, output.bias_V, output.target_N, 0.1, 0.0, output.taught
    )[0]


@pytest.mark.parametrize("taught", [False, True])
def test_closed_tokens_take_no_part(taught: bool) -> None:
    """The reference has all logits, those of closed tokens -inf, and smooths over the others."""
    kept, targets = [1, 4, 5, 9], [4, 9, 9, 1, 5, 4]
    states_NE, weight_VE, bias_V, whole = output(kept=kept, targets=targets)
    if taught:
        ids_NK = torch.tensor([[1, 4], [9, 1], [5, 4], [1, 9], [4, 1], [5, 9]])
        whole = replace(whole, taught=TaughtRows(ids_NK, torch.full((6, 2), 0.3, dtype=F64), 0.6))

    loss = loss_of(states_NE, whole.without_closed())
    gradients = torch.autograd.grad(loss, [states_NE, weight_VE, bias_V])

    logits_NK = (states_NE @ weight_VE.T + bias_V)[:, kept]
    renumbered = torch.tensor([kept.index(one) for one in targets])
    wanted = by_pytorch(logits_NK, renumbered, 0.1)[0]
    if whole.taught is not None:
        ids = whole.taught.ids_NK.clone().apply_(kept.index)
        wanted = taught_cross_entropy(wanted, logits_NK, replace(whole.taught, ids_NK=ids))
    close((loss, *gradients), (wanted, *torch.autograd.grad(wanted, [states_NE, weight_VE, bias_V])))


def test_leaving_them_out_changes_nothing_but_the_smoothing() -> None:
    states_NE, _, _, whole = output(kept=[1, 4, 5], targets=[4, 5, 1, 1])

    part = whole.without_closed()
    losses = [
        linear_cross_entropy(states_NE, one.weight_VE, one.bias_V, one.target_N, 0.0)[0].item()
        for one in (whole, part)
    ]

    assert len(part.weight_VE) == 3
    assert losses[0] == pytest.approx(losses[1], abs=1e-8)


def test_a_target_that_is_closed_needs_all_logits() -> None:
    _, _, _, whole = output(kept=[1, 4, 5], targets=[4, 5, 6])

    assert whole.without_closed() is whole


@pytest.mark.parametrize("kept", [[1, 4, 5], [0, 1, 2, 4, 5, 6, 8]])
def test_what_teachers_give_closed_tokens_is_spread_over_the_open_ones(kept: list[int]) -> None:
    _, _, _, whole = output(kept=kept, targets=[4, 5, 1])
    ids_NK = torch.tensor([[1, 4, 5], [5, 7, 3], [3, 1, 7]])
    p_NK = torch.tensor([[0.3, 0.2, 0.1], [0.4, 0.3, 0.1], [0.3, 0.2, 0.2]], dtype=F64)
    whole = replace(whole, taught=TaughtRows(ids_NK, p_NK, 0.6))

    taught = whole.without_closed().taught

    assert taught is not None
    for row, (ids, p) in enumerate(zip(taught.ids_NK.tolist(), taught.p_NK.tolist(), strict=True)):
        pairs = zip(ids_NK[row].tolist(), p_NK[row].tolist(), strict=True)
        wanted = {kept.index(token): share for token, share in pairs if token in kept}
        assert {token: share for token, share in zip(ids, p, strict=True) if share} == wanted
        assert len(set(ids)) == 3
        assert set(ids) <= set(range(len(kept)))


def test_more_tokens_of_teachers_than_open_ones_need_all_logits() -> None:
    _, _, _, whole = output(kept=[1, 4], targets=[4])
    whole = replace(whole, taught=TaughtRows(torch.tensor([[1, 4, 5]]), torch.full((1, 3), 0.3), 0.6))

    assert whole.without_closed() is whole


def test_without_closed_tokens_or_a_bias_the_output_layer_stays() -> None:
    _, weight_VE, _, whole = output(kept=range(VOCAB), targets=[3])
    without = Output(weight_VE, None, torch.tensor([3]))

    assert whole.without_closed() is whole
    assert without.without_closed() is without


def test_validation_counts_closed_tokens() -> None:
    """The loss of a text does not depend on what the training text had."""
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocab=VOCAB, target_vocab=VOCAB, d_model=8, d_ff=8, heads=2, output_bias=True
    )
    model = build_model(config).double().eval()
    closed_V = torch.arange(VOCAB) > 8
    shut(model.logits, closed_V)
    batch = collate([[4, 5], [6]], [[7], [8, 9, 10]], pad_id=0, start_id=1, end_id=2)

    loss, nll = Objective(model, 0.1)(batch)

    logits_BTV = model(batch.source_BS, batch.source_len_B, batch.target_BT)
    logits_NV = torch.cat((logits_BTV[0, :2], logits_BTV[1, :4]))
    close((loss, nll), by_pytorch(logits_NV, torch.tensor([7, 2, 8, 9, 10, 2]), 0.1))
    assert float(nll.detach()) > 2 * 20


# The objective


def test_the_objective_sums_over_the_tokens_that_are_not_padding() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocab=VOCAB,
        target_vocab=VOCAB,
        d_model=8,
        d_ff=8,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        output_bias=True,
    )
    model = build_model(config).double()
    batch = collate([[4, 5], [6]], [[7], [8, 9, 10]], pad_id=0, start_id=1, end_id=2)

    loss, nll = Objective(model, 0.1)(batch)

    logits_BTV = model(batch.source_BS, batch.source_len_B, batch.target_BT)
    logits_NV = torch.cat((logits_BTV[0, :2], logits_BTV[1, :4]))
    close((loss, nll), by_pytorch(logits_NV, torch.tensor([7, 2, 8, 9, 10, 2]), 0.1))


def test_the_objective_can_be_taken_without_gradients() -> None:
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocab=VOCAB, target_vocab=VOCAB, d_model=8, d_ff=8, heads=2, dropout=0.0
    )
    objective = Objective(build_model(config), 0.1)
    batch = collate([[4, 5]], [[7]], pad_id=0, start_id=1, end_id=2)

    with torch.inference_mode():
        resting = objective(batch)

    close([x.detach() for x in objective(batch)], list(resting), 1e-6)
