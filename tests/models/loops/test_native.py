"""The loops in C against float64, and against PyTorch's operators where they do the same work."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from tests.training.step.test_loss import divergence
from torch import Tensor, nn
from torch.func import functional_call

from dragoman.models import loops as native
from dragoman.models.layers.dropout import dropout
from dragoman.models.layers.masks import causal_bias, padding_bias
from dragoman.models.layers.norm import LayerNorm, RMSNorm
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import attend
from dragoman.training.data.batches import collate
from dragoman.training.step.loss import LinearCrossEntropy, Objective, softmax_block

TOLERANCE = {torch.float32: 3e-6, torch.bfloat16: 3e-2}


@pytest.fixture(autouse=True)
def loops() -> Iterator[None]:
    if not native.enable():
        pytest.skip("no C compiler here")
    yield
    native.disable()


def randn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def close(got: Tensor, wanted: Tensor, dtype: torch.dtype) -> None:
    scale = max(1.0, float(wanted.detach().abs().max()))
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=TOLERANCE[dtype] * scale)


# ---- attention -----------------------------------------------------------------------------------

SHAPES = [(1, 1, 1, 1, 1), (2, 3, 5, 7, 4), (3, 2, 16, 16, 16), (2, 2, 70, 33, 20), (1, 2, 130, 130, 64)]
SHAPES += [(2, 1, 1, 1, 32), (3, 4, 13, 15, 32), (2, 2, 65, 17, 32), (2, 1, 31, 31, 96), (1, 3, 9, 140, 64)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["none", "padding", "causal", "head"])
@pytest.mark.parametrize("shape", SHAPES)
def test_attention_is_equation_1(shape: tuple[int, ...], kind: str, dtype: torch.dtype) -> None:
    """With operands as the model has them: views into one projection, heads not side by side."""
    b, h, t, s, d = shape
    if kind == "causal" and t != s:
        pytest.skip("as many queries as keys")
    q_BTE, kv_BSE = randn(b, t, h * d, seed=1).to(dtype), randn(b, s, 2 * h * d, seed=2).to(dtype)
    q_BTE.requires_grad_(), kv_BSE.requires_grad_()
    length_B1 = torch.randint(1, s + 1, (b, 1), generator=torch.Generator().manual_seed(3))
    bias = {
        "none": None,
        "padding": padding_bias(torch.arange(s) < length_B1, dtype),
        "causal": causal_bias(t, dtype, torch.device("cpu")),
        "head": randn(h, t, s, seed=4).to(dtype),
    }[kind]

    def run(q_BTE: Tensor, kv_BSE: Tensor) -> Tensor:
        k_BSE, v_BSE = kv_BSE.chunk(2, -1)
        q, k, v = (x.view(b, -1, h, d).transpose(1, 2) for x in (q_BTE, k_BSE, v_BSE))
        return attend(q, k, v, None if bias is None else bias.to(q.dtype)).transpose(1, 2).flatten(2)

    upstream = randn(b, t, h * d, seed=5)
    wanted = run(q_BTE.double(), kv_BSE.double())
    wanted_gradients = torch.autograd.grad(wanted, (q_BTE, kv_BSE), upstream.double())
    got = run(q_BTE, kv_BSE)

    assert "_AttentionBackward" in _ancestors(got)  # the loops did it
    close(got, wanted, dtype)
    for gradient, right in zip(
        torch.autograd.grad(got, (q_BTE, kv_BSE), upstream.to(dtype)), wanted_gradients, strict=True
    ):
        close(gradient, right.double(), dtype)


def _ancestors(x: Tensor) -> set[str]:
    """The names of the operations that made it."""
    seen, todo = set(), [x.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [before for before, _ in node.next_functions]
    return {node.name() for node in seen}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("seen", [3, 4])
def test_hidden_keys_are_never_read(seen: int, width: int, dtype: torch.dtype) -> None:
    q, k, v = (randn(2, 2, 6, width, seed=i).to(dtype).requires_grad_() for i in range(3))
    bias = padding_bias(torch.arange(6) < torch.tensor([[seen], [6]]), dtype)
    with torch.no_grad():
        k[0, :, seen:] = torch.nan
        v[0, :, seen:] = torch.nan

    out = attend(q, k, v, bias)
    gradients = torch.autograd.grad(out.sum(), (q, k, v))

    assert out.isfinite().all()
    assert gradients[0].isfinite().all()
    assert not gradients[1][0, :, seen:].any()
    assert not gradients[2][0, :, seen:].any()


@pytest.mark.parametrize("width", [4, 32])
def test_what_is_no_number_stays_visible(width: int) -> None:
    q, k, v = (randn(1, 1, 3, width, seed=i).requires_grad_() for i in range(3))
    with torch.no_grad():
        v[0, 0, 1, 2] = torch.nan

    assert attend(q, k, v).isnan().any()
    assert attend(q.bfloat16(), k.bfloat16(), v.bfloat16()).isnan().any()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(5, 7, 4), (3, 17, 32), (65, 3, 32), (70, 33, 96)])
def test_what_earlier_loops_left_in_memory_does_no_harm(
    shape: tuple[int, int, int], dtype: torch.dtype
) -> None:
    """The loops compute whole vectors: lanes beyond the last row hold what an earlier call left there."""
    t, s, d = shape
    q, k, v = (randn(1, 2, n, d, seed=n).to(dtype).requires_grad_() for n in (t, s, s))
    upstream = randn(1, 2, t, d, seed=4).to(dtype)

    def results() -> list[Tensor]:
        leave(torch.nan)
        out = attend(q, k, v)
        leave(torch.nan)
        return [out, *torch.autograd.grad(out, (q, k, v), upstream)]

    for got in with_threads(1, results):
        assert got.isfinite().all()


def leave(number: float) -> None:
    """Fill the memory of the thread with a number."""
    row = torch.full((2**17,), number)
    native.layer_norm(row[None], row, row, 1e-5)


def test_shared_heads_give_the_gradients_of_equation_1() -> None:
    q = randn(2, 6, 5, 8, seed=1).requires_grad_()
    k, v = (randn(2, 2, 7, 8, seed=seed).requires_grad_() for seed in (2, 3))
    upstream = randn(2, 6, 5, 8, seed=4)

    got = attend(q, k, v)

    assert "_AttentionBackward" in _ancestors(got)  # the loops did it
    fine = [x.detach().double().requires_grad_() for x in (q, k, v)]
    wanted = attend(*fine)
    close(got, wanted, torch.float32)
    gradients = torch.autograd.grad(got, (q, k, v), upstream)
    for gradient, right in zip(gradients, torch.autograd.grad(wanted, fine, upstream.double()), strict=True):
        close(gradient, right, torch.float32)


# ---- layer normalisation -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 5, 16), (130, 33), (4, 3, 256)])
def test_rms_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    width = shape[-1]
    norm = RMSNorm(width, 1e-3)
    x, upstream = (1 + randn(*shape, seed=1)).to(dtype).requires_grad_(), randn(*shape, seed=2).to(dtype)
    gain = randn(width, seed=3).to(dtype).requires_grad_()

    got = functional_call(norm, {"weight": gain}, (x,))
    gradients = torch.autograd.grad(got, (x, gain), upstream)

    assert "_LayerNormBackward" in _ancestors(got)  # the loops did it
    fine = [y.detach().double().requires_grad_() for y in (x, gain)]
    wanted = nn.functional.rms_norm(fine[0], (width,), fine[1], 1e-3)
    close(got, wanted, dtype)
    for gradient, right in zip(gradients, torch.autograd.grad(wanted, fine, upstream.double()), strict=True):
        close(gradient, right, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 5, 16), (130, 33), (4, 3, 256)])
def test_layer_normalisation(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    width = shape[-1]
    norm = LayerNorm(width, 1e-3)
    x, upstream = (3 + randn(*shape, seed=1)).to(dtype).requires_grad_(), randn(*shape, seed=2).to(dtype)
    gain, shift = (randn(width, seed=seed).to(dtype).requires_grad_() for seed in (3, 4))

    got = functional_call(norm, {"weight": gain, "bias": shift}, (x,))
    gradients = torch.autograd.grad(got, (x, gain, shift), upstream)

    assert "_LayerNormBackward" in _ancestors(got)  # the loops did it
    fine = [y.detach().double().requires_grad_() for y in (x, gain, shift)]
    wanted = nn.functional.layer_norm(fine[0], (width,), fine[1], fine[2], 1e-3)
    close(got, wanted, dtype)
    for gradient, right in zip(gradients, torch.autograd.grad(wanted, fine, upstream.double()), strict=True):
        close(gradient, right, dtype)


def test_numbers_whose_squares_overflow_are_no_zeros() -> None:
    """A run that diverges has to be noticed."""
    assert native.layer_norm(1e25 * randn(3, 7, seed=1), torch.ones(7), torch.zeros(7), 1e-5).isnan().all()


@pytest.mark.parametrize("rows", [2, 7, 50])
def test_threads_divide_the_rows(rows: int) -> None:
    """Sums of several threads, of which some may have no rows, are those of one."""
    x, upstream = (randn(rows, 33, seed=seed).requires_grad_() for seed in (1, 2))
    gain, shift = (randn(33, seed=seed).requires_grad_() for seed in (3, 4))
    logits_CRV = randn(2, rows, 33, seed=5)

    def results() -> list[Tensor]:
        out = native.layer_norm(x, gain, shift, 1e-5)
        gradient = logits_CRV.clone()
        block = softmax_block(gradient, 5.0, shift.detach(), rows - 1)
        sums = [part for part in block if part is not None]
        return [*torch.autograd.grad(out, (x, gain, shift), upstream), gradient, *sums]

    one = with_threads(1, results)
    for threads in (2, 3):
        torch.testing.assert_close(with_threads(threads, results), one)


def with_threads(count: int, call: Callable[[], list[Tensor]]) -> list[Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return call()
    finally:
        torch.set_num_threads(before)


def test_gradients_of_many_rows_lose_nothing() -> None:
    """bf16 sums of PyTorch's own operator are off by a tenth here."""
    x, upstream = (randn(4000, 32, seed=seed).bfloat16() for seed in (1, 2))
    gain, shift = torch.ones(32).bfloat16().requires_grad_(), torch.zeros(32).bfloat16().requires_grad_()

    out = native.layer_norm(x, gain, shift, 1e-5)
    _, dshift = torch.autograd.grad(out, (gain, shift), upstream)

    wanted = upstream.double().sum(0)
    torch.testing.assert_close(dshift.double(), wanted, rtol=2**-8, atol=0)


# ---- dropout -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(1,), (5, 3), (1000, 1001)])
def test_dropout_keeps_its_share_and_its_mean(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, base = torch.ones(shape, dtype=dtype).requires_grad_(), torch.full(shape, 0.5, dtype=dtype)
    torch.manual_seed(1)
    got = dropout(x, 0.3)
    torch.manual_seed(1)
    added = dropout(x, 0.3, base)
    (gradient,) = torch.autograd.grad(got.sum(), x)

    assert set(got.unique().tolist()) <= {0.0, torch.tensor(1 / 0.7, dtype=dtype).item()}
    torch.testing.assert_close(gradient, got)  # the same mask
    torch.testing.assert_close(added, base + got)
    if x.numel() > 1000:
        assert float((got == 0).float().mean()) == pytest.approx(0.3, abs=2e-3)
        rows = (got == 0).float().mean(1)  # no row or column is special
        assert float(rows.std()) == pytest.approx((0.3 * 0.7 / shape[1]) ** 0.5, rel=0.15)


def test_masks_are_of_the_seed_and_of_the_call() -> None:
    x = torch.ones(64, 64)
    torch.manual_seed(7)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(7)

    assert torch.equal(dropout(x, 0.5), first)
    agree = float((first == second).float().mean())
    assert agree == pytest.approx(0.5, abs=0.05)  # as two independent masks do


def test_all_but_all_may_be_dropped() -> None:
    assert dropout(torch.ones(100), 1 - 1e-12).isfinite().all()


# ---- the loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("vocab", [1, 15, 16, 17, 1000])
@pytest.mark.parametrize("consistency", [0.0, 5.0])
def test_a_block_of_the_loss(vocab: int, consistency: float, biased: bool, dtype: torch.dtype) -> None:
    copies, rows, real = (2 if consistency else 1), 9, 7
    logits_CRV = (3 * randn(copies, rows, vocab, seed=1)).to(dtype)
    bias_V = randn(vocab, seed=2).to(dtype) if biased else None
    fine = logits_CRV.double().requires_grad_()
    wanted = fine if bias_V is None else fine + bias_V.double()
    lse_CR = wanted.logsumexp(-1)
    apart = divergence(wanted.flatten(0, 1)) if consistency else torch.zeros((), dtype=torch.float64)
    (gradient,) = torch.autograd.grad(lse_CR.sum() + consistency * apart, fine)

    got_lse_CR, got_apart, sum_V = softmax_block(logits_CRV, consistency, bias_V, real)

    close(got_lse_CR, lse_CR, torch.float32)
    close(got_apart, apart, torch.float32)
    close(logits_CRV, gradient, dtype)
    if bias_V is None:
        assert sum_V is None
    else:
        assert sum_V is not None
        close(sum_V, gradient[:, :real].sum((0, 1)), torch.float32)


def test_unlikely_targets_cost_what_they_should() -> None:
    """Where the target's probability is no number in float32."""
    states, weight = torch.tensor([[1.0]], requires_grad=True), torch.tensor([[-200.0], [0.0]])

    _, nll = LinearCrossEntropy.apply(states, weight, None, torch.tensor([0]), 0.0)  # type: ignore[no-untyped-call]

    assert float(nll) == pytest.approx(200)


# ---- the whole -----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_a_step_is_the_step_of_pytorch_s_operators(norm: str, consistency: float) -> None:
    config = TransformerConfig(
        source_vocab=50, target_vocab=50, d_model=32, d_ff=48, heads=4, encoder_layers=2, decoder_layers=2,
        dropout=0.0, norm=norm,  # type: ignore[arg-type]
    )  # fmt: skip
    torch.manual_seed(1)
    model = build_model(config)
    objective = Objective(model, 0.1, consistency)
    batch = collate([[4, 5, 6], [7]], [[5, 9, 8, 7], [7, 8]], pad_id=0, start_id=1, end_id=2)

    def gradients() -> list[Tensor]:
        loss, nll = objective(batch)
        return [loss, nll, *torch.autograd.grad(loss, list(objective.parameters()))]

    got = gradients()
    native.disable()
    objective.double()
    for ours, theirs in zip(got, gradients(), strict=True):
        close(ours, theirs, torch.float32)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_vectors_of_any_width(lanes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processors differ in it. The mask of dropout does not depend on it."""
    torch.manual_seed(1)
    mask = dropout(torch.ones(7, 11), 0.5)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "_FLAGS", (*native._FLAGS, f"-DLANES={lanes}"))
    native._library.cache_clear()
    try:
        library = native._library()
        assert library is not None
        assert ctypes.c_int64.in_dll(library, "lanes").value == lanes
        torch.manual_seed(1)
        assert torch.equal(dropout(torch.ones(7, 11), 0.5), mask)
        for dtype in TOLERANCE:
            for shape, kind in itertools.product(SHAPES, ["padding", "head"]):
                test_attention_is_equation_1(shape, kind, dtype)
            for width in (1, 7, 16, 33, 256):
                test_layer_normalisation((5, width), dtype)
                test_rms_norm((5, width), dtype)
            for vocab, consistency in itertools.product((1, 15, 16, 17, 1000), (0.0, 5.0)):
                test_a_block_of_the_loss(vocab, consistency, biased=True, dtype=dtype)
    finally:
        native._library.cache_clear()


def test_a_damaged_library_in_the_cache_is_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (library := tmp_path / "loops.so").touch()
    monkeypatch.setattr("dragoman.base.compiler.cached", lambda *_, **__: library)
    native._library.cache_clear()
    try:
        assert native._library() is not None
    finally:
        native._library.cache_clear()
    assert [*tmp_path.iterdir()] == [library]


def test_they_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")

    assert not native.enable()
    assert not native.enabled()


@pytest.mark.thorough
def test_without_a_compiler_everything_works(tmp_path: Path) -> None:
    program = (
        "import torch; from dragoman.models import loops as native;"
        "from dragoman.models.layers.dropout import dropout;"
        "assert not native.enable(); assert dropout(torch.ones(8), 0.5).shape == (8,)"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "CC": "no-such-compiler"},
        check=True,
        timeout=120,
    )
