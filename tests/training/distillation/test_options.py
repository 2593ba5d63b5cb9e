"""The options of distillation."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.base.errors import ConfigError
from dragoman.training.distillation.options import TeacherConfig, outputs_of
from dragoman.training.runs.recipe import resolve

ONE = ("runs/one",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 0.5}, r"options of \[teacher\], but no teachers"),
        ({"models": ONE, "outputs": "none"}, "learn nothing from the teachers"),
        ({"models": ONE, "outputs": "none", "words": 1.0, "reference_weight": 0.0}, "no text to train on"),
        ({"models": ONE, "n_best": 6, "outputs": "all"}, "n_best = 6 cannot come from a beam of 5"),
        ({"models": ONE, "digests": ("a", "b")}, "2 for 1 teachers"),
        ({"models": ONE, "words": 1.5}, "words"),
        ({"models": ONE, "beam": 0}, "beam"),
        ({"models": ONE, "beam": 1001}, "beam"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TeacherConfig(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_best": 3}, 'n_best = 3, but teacher.outputs = "best"'),
        ({"outputs": "none", "words": 0.5, "n_best": 3}, 'n_best = 3, but teacher.outputs = "none"'),
        ({"outputs": "none", "words": 0.5, "dtype": "int8"}, 'dtype = "int8", but teacher.outputs = "none"'),
        ({"outputs": "none", "words": 0.5, "beam": 9}, 'beam = 9, but teacher.outputs = "none"'),
        ({"outputs": "none", "words": 0.5, "outputs_weight": 2.0}, "outputs_weight = 2.0, but"),
        ({"temperature": 2.0}, "temperature = 2.0, but teacher.words = 0"),
        ({"top_k": 4}, "top_k = 4, but teacher.words = 0"),
        ({"average": "probabilities"}, 'average = "probabilities", but there is one teacher'),
    ],
)
def test_options_that_would_change_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"teacher.{message}.*: it would change nothing"):
        TeacherConfig(models=ONE, **options)


@pytest.mark.parametrize(
    "option", ["tokenizer.sampling=0.1", "data.terms=0.3", "data.matches=0.5", "tokenizer.placeholders=4"]
)
def test_distributions_need_tokens_that_stay(option: str) -> None:
    teachers = ['teacher.models=["runs/one"]', option]
    resolve(overrides=teachers)

    with pytest.raises(ConfigError, match=r"teacher.words = 0.5, but .* changes the tokens in every epoch"):
        resolve(overrides=[*teachers, "teacher.words=0.5"])


def test_weights_to_start_from_are_enough() -> None:
    options = TeacherConfig(models=ONE, outputs="none", start=True)

    assert options.needs_vocabulary == "teacher.start"
    assert not TeacherConfig(models=ONE).needs_vocabulary


def test_weights() -> None:
    both = TeacherConfig(models=ONE, outputs_weight=2.0, reference_weight=0.5)
    assert both.weights({"reference": 1.0}) == {"reference": 0.5, "reference.outputs": 2.0}
    assert both.weights({"a": 2.0, "b": 1.0}) == {"a": 1.0, "b": 0.5, "a.outputs": 4.0, "b.outputs": 2.0}
    alone = TeacherConfig(models=ONE, reference_weight=0.0)
    assert alone.weights({"reference": 1.0}) == {outputs_of("reference"): 1.0}
    assert TeacherConfig(models=ONE, outputs="none", words=1.0).weights({"a": 1.0}) == {"a": 1.0}


def test_as_many_translations_as_the_beam() -> None:
    assert TeacherConfig(models=ONE, beam=7).searched == 1
    assert TeacherConfig(models=ONE, beam=7, outputs="all").searched == 7
    assert TeacherConfig(models=ONE, beam=7, outputs="nearest", n_best=3).searched == 3
