"""Every positional encoding against its paper's formula, a number at a time or in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from dragoman.models.layers.cache import KeyValueCache
from dragoman.models.layers.masks import causal_bias
from dragoman.models.layers.positions import (
    AlibiBias,
    AttentionPositions,
    IndexPositions,
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    T5Bias,
    in_attention,
    sinusoidal,
)
from dragoman.models.layers.window import FullView
from dragoman.models.shapes import AnyPositions, SinusoidLayout, TransformerConfig
from dragoman.models.transformer import SelfAttention

LAYOUTS: list[SinusoidLayout] = ["sinusoidal", "sinusoidal-halves", "sinusoidal-t2t"]


def paper(position: int, column: int, width: int) -> float:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    angle = position / 10000 ** (2 * (column // 2) / width)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


@pytest.mark.parametrize("width", [2, 6, 7, 16])
def test_the_table_is_the_paper_s(width: int) -> None:
    table = sinusoidal(300, width)

    for position in (0, 1, 2, 17, 255, 256, 299):
        for column in range(width):
            assert float(table[position, column]) == pytest.approx(paper(position, column, width), abs=1e-7)


@pytest.mark.parametrize("width", [2, 6, 7, 16])
def test_the_halves_are_the_paper_s_columns_in_another_order(width: int) -> None:
    order = [*range(0, width, 2), *range(1, width, 2)]  # all sines, then all cosines

    assert torch.equal(sinusoidal(300, width, "sinusoidal-halves"), sinusoidal(300, width)[:, order])


def tensor2tensor(position: int, column: int, width: int) -> float:
    """All sines, then all cosines; the wavelengths are a geometric sequence from 2 pi to 10000 * 2 pi."""
    pairs = width // 2
    if column == 2 * pairs:
        return 0.0
    growth = math.log(10000) / max(pairs - 1, 1)
    angle = position * math.exp(-growth * (column % pairs))
    return math.sin(angle) if column < pairs else math.cos(angle)


@pytest.mark.parametrize("width", [2, 3, 6, 7, 16, 512])
def test_the_table_is_tensor2tensor_s(width: int) -> None:
    table = sinusoidal(300, width, "sinusoidal-t2t")

    assert table.shape == (300, width)
    for position in (0, 1, 2, 17, 255, 256, 299):
        for column in range(width):
            wanted = tensor2tensor(position, column, width)
            assert float(table[position, column]) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_may_begin_anywhere(layout: SinusoidLayout) -> None:
    assert torch.equal(sinusoidal(5, 8, layout, start=1000), sinusoidal(1005, 8, layout)[1000:])


def test_far_positions_are_exact() -> None:
    """Angles in float32 would be off by 1e-3 there."""
    table = sinusoidal(1, 4, start=100_000)

    assert [float(x) for x in table[0]] == pytest.approx([paper(100_000, c, 4) for c in range(4)], abs=1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_are_added_from_where_they_start(layout: SinusoidLayout) -> None:
    positions = SinusoidalPositions(8, layout)
    x_BTE = torch.randn(2, 4, 8)

    assert torch.equal(positions(x_BTE), x_BTE + sinusoidal(4, 8, layout))
    assert torch.equal(positions(x_BTE, start=9), x_BTE + sinusoidal(4, 8, layout, start=9))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("length", [256, 257, 700])
def test_there_is_no_greatest_length(length: int, layout: SinusoidLayout) -> None:
    positions = SinusoidalPositions(8, layout)

    assert torch.equal(positions(torch.zeros(1, length, 8))[0], sinusoidal(length, 8, layout))
    assert torch.equal(positions(torch.zeros(1, 1, 8), start=3000)[0], sinusoidal(1, 8, layout, start=3000))
    assert torch.equal(positions(torch.zeros(1, 5, 8))[0], sinusoidal(5, 8, layout))


def test_positions_follow_the_input_s_precision() -> None:
    positions = SinusoidalPositions(8, "sinusoidal")

    assert positions(torch.zeros(1, 3, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert positions(torch.zeros(1, 300, 8, dtype=torch.float64)).dtype == torch.float64


def test_a_table_that_grew_in_validation_serves_in_training() -> None:
    positions = SinusoidalPositions(4, "sinusoidal")
    with torch.inference_mode():
        positions(torch.zeros(1, 300, 4))
    x_BTE = torch.zeros(1, 300, 4, requires_grad=True)

    (positions(x_BTE) ** 2).sum().backward()

    assert x_BTE.grad is not None
    torch.testing.assert_close(x_BTE.grad[0], 2 * sinusoidal(300, 4))


def test_the_table_is_no_weight() -> None:
    positions = SinusoidalPositions(8, "sinusoidal")

    assert not positions.state_dict()
    assert not list(positions.parameters())


# On the input


def test_learned_positions_are_rows_of_a_table() -> None:
    torch.manual_seed(0)
    positions = LearnedPositions(8)
    x_BTE = torch.randn(2, 4, 8)

    torch.testing.assert_close(positions(x_BTE, start=9), x_BTE + positions.table.weight[9:13])


def test_beyond_the_table_the_last_learned_position_serves() -> None:
    positions = LearnedPositions(8)
    last = positions.LONGEST - 1

    assert torch.equal(positions(torch.zeros(1, 3, 8), start=last)[0], positions.table.weight[[last] * 3])


def test_an_index_takes_the_last_dimension() -> None:
    x_BTE = torch.randn(2, 3, 4)

    got = IndexPositions()(x_BTE, start=5)

    assert torch.equal(got[..., :3], x_BTE[..., :3])
    assert got[..., 3].tolist() == [[5, 6, 7], [5, 6, 7]]


def test_a_fraction_is_of_the_source_s_length() -> None:
    """Two sentences of 4 and 8 tokens; in a search the rows of a sentence stand side by side."""
    length_B = torch.tensor([4, 8])

    got = IndexPositions(fraction=True)(torch.zeros(4, 3, 2), start=1, length_B=length_B)

    assert got[..., 1].tolist() == [[0.25, 0.5, 0.75]] * 2 + [[0.125, 0.25, 0.375]] * 2


# In attention: the whole of eq. 1 written out for one query and one key at a time

HEADS, WIDTH, LENGTH = 3, 12, 7
F64 = torch.float64


def drawn(kind: AnyPositions, *, causal: bool) -> SelfAttention:
    torch.manual_seed(4)
    positions = in_attention(kind, HEADS, WIDTH, causal=causal)
    own = SelfAttention(TransformerConfig(d_model=WIDTH, heads=HEADS), positions).double()
    with torch.no_grad():
        for parameter in own.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return own


def written_out(own: SelfAttention, kind: AnyPositions, x_TE: Tensor, *, causal: bool) -> Tensor:
    """The heads before W^O, from scalars: (H, T, D)."""
    q, k, v = (z[0] for z in own.queries_keys_values(x_TE[None]))
    d = WIDTH // HEADS
    out = torch.zeros(HEADS, LENGTH, d, dtype=F64)
    positions: AttentionPositions = own.positions
    for h in range(HEADS):
        for t in range(LENGTH):
            seen = range(t + 1) if causal else range(LENGTH)
            logits = []
            for s in seen:
                query, key, extra = q[h, t], k[h, s], 0.0
                match positions:
                    case RelativePositions():
                        clipped = max(-16, min(16, s - t)) + 16
                        key = key + positions.of_keys.weight[clipped]
                    case RotaryPositions():
                        query, key = turned(query, t), turned(key, s)
                    case AlibiBias():
                        extra = -float(positions.slope_H[h]) * abs(t - s)
                    case T5Bias():
                        bucket = t5_bucket(s - t, both_ways=not causal)
                        extra = float(positions.table.weight[bucket, h])
                logits.append(float(query @ key) / math.sqrt(d) + extra)
            total = sum(map(math.exp, logits))
            for s, logit in zip(seen, logits, strict=True):
                value = v[h, s]
                if isinstance(positions, RelativePositions):
                    value = value + positions.of_values.weight[max(-16, min(16, s - t)) + 16]
                out[h, t] += math.exp(logit) / total * value
    return out


def turned(x_D: Tensor, position: int) -> Tensor:
    """Each pair as a complex number, multiplied by e^(i position theta)."""
    pairs = torch.view_as_complex(x_D.view(-1, 2).contiguous())
    theta = torch.tensor([10000 ** (-2 * i / len(x_D)) for i in range(len(pairs))], dtype=F64)
    return torch.view_as_real(pairs * torch.exp(1j * position * theta)).flatten()


def t5_bucket(distance: int, *, both_ways: bool) -> int:
    """Raffel et al. 2020, section 2.1, and their code: exact up to half the buckets, then logarithmic."""
    buckets = 16 if both_ways else 32
    first = buckets if both_ways and distance > 0 else 0
    far = abs(distance) if both_ways else max(-distance, 0)
    half = buckets // 2
    if far < half:
        return first + far
    return first + min(half + int(math.log(far / half) / math.log(128 / half) * half), buckets - 1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["relative", "t5", "alibi", "rotary", "none"])
def test_attention_with_positions_is_its_formula(kind: AnyPositions, causal: bool) -> None:
    own = drawn(kind, causal=causal)
    x_TE = torch.randn(LENGTH, WIDTH, dtype=F64, generator=torch.Generator().manual_seed(1))
    bias = causal_bias(LENGTH, F64, x_TE.device) if causal else torch.zeros((), dtype=F64)

    with torch.no_grad():
        got = own(x_TE[None], FullView(bias, LENGTH))
        wanted = own.merge(written_out(own, kind, x_TE, causal=causal)[None])

    # The table of angles is kept in float32.
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-6 if kind == "rotary" else 1e-12)


@pytest.mark.parametrize("kind", ["relative", "t5", "alibi", "rotary", "none"])
def test_a_step_is_the_last_row_of_the_whole(kind: AnyPositions) -> None:
    own = drawn(kind, causal=True)
    x_BTE = torch.randn(2, 40, WIDTH, dtype=F64)

    with torch.no_grad():
        wanted = own(x_BTE, FullView(causal_bias(40, F64, x_BTE.device), 40))
        cache = KeyValueCache()
        got = torch.cat([own.step(x_BTE[:, t : t + 1], cache) for t in range(40)], 1)

    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("both_ways", [False, True])
def test_t5_buckets_are_those_of_its_published_models(both_ways: bool) -> None:
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    distance_TS = torch.arange(-400, 401)[None]

    wanted = t5.T5Attention._relative_position_bucket(distance_TS, bidirectional=both_ways)

    assert torch.equal(T5Bias(2, both_ways=both_ways).bucket(distance_TS), wanted)


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),  # section 3 of the paper
        (3, [2**-4, 2**-8, 2**-2]),
    ],
)
def test_alibi_s_slopes(heads: int, slopes: list[float]) -> None:
    assert AlibiBias.slopes(heads) == slopes


@pytest.mark.parametrize("shift", [1, 5, 100])
def test_rotary_products_depend_on_the_distance_alone(shift: int) -> None:
    rotary = RotaryPositions(8)
    q, k = torch.randn(1, 1, 4, 8), torch.randn(1, 1, 4, 8)

    here = rotary.turn(q) @ rotary.turn(k).transpose(-2, -1)
    there = rotary.turn(q, shift) @ rotary.turn(k, shift).transpose(-2, -1)

    torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-4)


def test_a_shift_turns_each_pair_of_the_sinusoids() -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos), one rotation a pair."""
    rotary = RotaryPositions(8)
    table_TE = sinusoidal(50, 8)
    # A pair is (sin a, cos a); turned the other way round as (cos, sin) it is a point at angle a.
    points = table_TE.view(50, 4, 2).flip(2).reshape(1, 1, 50, 8)

    moved = torch.stack([rotary.turn(points[:, :, t : t + 1], 7)[0, 0, 0] for t in range(43)])

    torch.testing.assert_close(moved, points[0, 0, 7:], rtol=1e-5, atol=1e-5)


def test_a_rotary_table_that_grew_in_validation_serves_in_training() -> None:
    """There the table is kept for the gradient, which one made in inference mode cannot be."""
    rotary = RotaryPositions(4)
    with torch.inference_mode():
        rotary.turn(torch.zeros(1, 1, 300, 4))
    x_BHTD = torch.ones(1, 1, 300, 4, requires_grad=True)

    (rotary.turn(x_BHTD) ** 2).sum().backward()

    assert x_BHTD.grad is not None
    torch.testing.assert_close(x_BHTD.grad, 2 * torch.ones(1, 1, 300, 4), rtol=1e-4, atol=1e-4)
