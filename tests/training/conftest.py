"""The corpora that the tests of runs share."""

from __future__ import annotations

import pytest
from tests.training.small_runs import Corpora, corpus, tokenizer

from dragoman.text.tokenizers.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def cut() -> Tokenizer:
    return tokenizer()


@pytest.fixture(scope="module")
def corpora(cut: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Corpora:
    folder = tmp_path_factory.mktemp("corpora")
    return corpus(folder / "train", 40, cut=cut), corpus(folder / "valid", 9, seed=5, cut=cut)
