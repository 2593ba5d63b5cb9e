"""The share of the tuned weights in the final mean."""

from __future__ import annotations

from dataclasses import replace

from tests.text.tokenizers.test_extend import learnt
from tests.translation.folder.models import small

from dragoman.models.seq2seq import build_model
from dragoman.training.runs.tuning.outcome import AFTER, BEFORE, Tuned, chosen_share, compared


def test_the_best_in_domain_of_those_that_lose_little_elsewhere() -> None:
    rows = [
        {"share": 0.0, "loss": 3.0, "general_loss": 2.0},
        {"share": 0.4, "loss": 2.5, "general_loss": 2.01},
        {"share": 0.6, "loss": 2.3, "general_loss": 2.014},
        {"share": 1.0, "loss": 2.1, "general_loss": 2.3},
    ]

    assert chosen_share(rows) == 0.6


def test_weights_that_learnt_too_much_in_domain_are_not_chosen() -> None:
    rows = [
        {"share": 0.0, "loss": 3.0, "general_loss": 2.0},
        {"share": 0.5, "loss": 2.5, "general_loss": 2.0},
        {"share": 1.0, "loss": 2.6, "general_loss": 2.0},
    ]

    assert chosen_share(rows) == 0.5


def test_if_all_lose_much_the_smallest_share() -> None:
    rows = [
        {"share": 0.0, "loss": 3.0, "general_loss": 2.0},
        {"share": 0.1, "loss": 2.5, "general_loss": 2.2},
        {"share": 1.0, "loss": 2.0, "general_loss": 2.9},
    ]

    assert chosen_share(rows) == 0.1


def test_without_general_text_the_smallest_share_with_nearly_the_whole_gain() -> None:
    rows = [
        {"share": share, "loss": loss} for share, loss in ((0.0, 3.0), (0.5, 2.04), (0.8, 2.0), (1.0, 2.1))
    ]

    assert chosen_share(rows) == 0.5


def test_without_held_out_pairs_at_most_a_half_and_no_more_than_is_cheap() -> None:
    losses = (2.0, 2.005, 2.01, 2.012, 2.5)
    rows = [{"share": n / 4, "general_loss": loss} for n, loss in enumerate(losses)]
    dear = [{"share": n / 4, "general_loss": 2 + n} for n in range(5)]

    assert chosen_share(rows) == 0.5
    assert chosen_share(dear) == 0.25


def test_if_all_lose_in_domain_the_smallest_share() -> None:
    rows = [{"share": n / 4, "loss": 3.0 + n} for n in range(5)]

    assert chosen_share(rows) == 0.25
    assert chosen_share([{**row, "loss": float("nan")} for row in rows]) == 0.25


def test_without_held_out_pairs_no_large_share_even_if_it_alone_is_cheap() -> None:
    rows = [
        {"share": 0.0, "general_loss": 2.0},
        {"share": 0.1, "general_loss": 2.1},
        {"share": 0.5, "general_loss": 2.05},
        {"share": 0.9, "general_loss": 2.01},
    ]

    assert chosen_share(rows) == 0.1


def test_a_base_that_does_not_know_a_direction_is_compared_all_the_same() -> None:
    old = replace(small(), directions=(("en", "yo"),))
    base = replace(old, tokenizer=learnt(languages=("yo", "cs")))
    size = base.tokenizer.source_size
    base = replace(base, model=build_model(replace(old.model.config, source_vocab=size, target_vocab=size)))
    tuned = replace(base, directions=(("en", "yo"), ("en", "cs")))
    texts = {name: (("en", name), [("the moon", "a")] * 2) for name in ("yo", "cs")}

    found = compared(base, tuned, texts)

    assert list(found) == ["yo", "cs"]
    named = {"in domain, en-yo": found["yo"], "in domain, en-cs": found["cs"], "general": found["cs"]}
    bleus = Tuned(base="", share=1.0, comparisons=named).bleus
    assert bleus == [one.scores[AFTER].bleu for one in found.values()]  # of each direction
    assert found["cs"].scores[BEFORE].chrf.value == found["cs"].scores[AFTER].chrf.value
