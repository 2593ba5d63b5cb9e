"""The learning rate against eq. 3 of the paper in float64 and against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.training.step.schedule import cosine, inverse_sqrt, paper

STEPS = [1, 2, 100, 3999, 4000, 4001, 16_000, 100_000, 3_000_000]


@pytest.mark.parametrize("d_model", [128, 512, 1024])
@pytest.mark.parametrize("warmup", [1, 4000, 16_000])
def test_paper_is_equation_3(d_model: int, warmup: int) -> None:
    step = np.array(STEPS, dtype=np.float64)
    wanted = np.power(d_model, -0.5) * np.minimum(np.power(step, -0.5), step * np.power(float(warmup), -1.5))

    got = [paper(s, d_model=d_model, warmup=warmup) for s in STEPS]

    np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_paper_by_hand() -> None:
    # d_model 256 and warm-up 400: 1/16 * min(1/sqrt(step), step / 8000)
    assert paper(1, d_model=256, warmup=400) == pytest.approx(1 / 128_000)
    assert paper(400, d_model=256, warmup=400) == pytest.approx(1 / 320)
    assert paper(1600, d_model=256, warmup=400) == pytest.approx(1 / 640)
    # The peak of the base model.
    assert paper(4000, d_model=512, warmup=4000) == pytest.approx(6.9877e-4, rel=1e-4)


def test_inverse_sqrt_by_hand() -> None:
    rates = [inverse_sqrt(step, peak=0.005, warmup=100) for step in (1, 50, 100, 400, 10_000)]

    assert rates == pytest.approx([0.00005, 0.0025, 0.005, 0.0025, 0.0005])


@pytest.mark.parametrize("step", STEPS)
def test_inverse_sqrt_has_the_shape_of_the_paper_s(step: int) -> None:
    peak = paper(4000, d_model=512, warmup=4000)

    assert inverse_sqrt(step, peak=peak, warmup=4000) == pytest.approx(
        paper(step, d_model=512, warmup=4000), rel=1e-12
    )


def test_cosine_by_hand() -> None:
    rates = [cosine(step, peak=2.0, warmup=10, last=110) for step in (1, 5, 10, 35, 60, 85, 110)]

    middle = 1 + math.cos(math.pi / 4)
    assert rates == pytest.approx([0.2, 1.0, 2.0, middle, 1.0, 2 - middle, 0.0], abs=1e-15)


def test_cosine_stays_at_zero_and_survives_a_warm_up_longer_than_the_run() -> None:
    assert cosine(500, peak=2.0, warmup=10, last=110) == 0
    assert cosine(50, peak=2.0, warmup=100, last=60) == 1.0
    assert cosine(100, peak=2.0, warmup=100, last=60) == 2.0


def test_cosine_ends_at_zero_when_the_time_is_up_before_the_warm_up() -> None:
    rates = [cosine(step, peak=2.0, warmup=100, last=10**9, time=step / 60) for step in (15, 30, 60)]

    assert rates == pytest.approx([0.3 * 0.5 * (1 + math.cos(math.pi / 4)), 0.3, 0.0], abs=1e-15)


def test_cosine_of_the_time_makes_no_step_after_the_warm_up() -> None:
    before, after = (cosine(step, peak=2.0, warmup=1000, last=10**9, time=0.5) for step in (999, 1000))

    assert before == pytest.approx(after, rel=2e-3)
