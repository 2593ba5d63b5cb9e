"""Embeddings from word vectors: which rows they fill, how they are scaled, and that frozen ones stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman import train
from dragoman.base.errors import ConfigError, DataError
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.runs import initial_model as pretrained
from dragoman.runs.recipe import EmbeddingsConfig
from dragoman.text.tokenizer import Tokenizer, TokenizerConfig

PAIRS = [("Bread and milk", "Brot und Milch"), ("milk and salt", "Milch und Salz")]
VECTORS = "bread 1 2 3 4\nmilk -1 0 1 0\nand 5 5 5 5\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf-8")
    return path


def words() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(kind="words", vocab_size=20, shared=False))


def model(tokenizer: Tokenizer, **shape: Any) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 4, "d_ff": 8, "heads": 1, "encoder_layers": 1, "decoder_layers": 1, "tie": "decoder"}
    return build_model(
        TransformerConfig(
            source_vocab=tokenizer.source_size, target_vocab=tokenizer.target_size, **(sizes | shape)
        )
    )


def test_words_that_are_found_get_their_vectors_scaled_alike(file: Path) -> None:
    tokenizer = words()
    net, before = model(tokenizer), model(tokenizer).source_embedding.weight.detach()
    said: list[str] = []

    pretrained.fill(net, tokenizer, EmbeddingsConfig(source=str(file)), say=said.append)

    after = net.source_embedding.weight.detach()
    row = {word: tokenizer.encode_source([word])[0][0] for word in ("Bread", "and", "milk", "salt")}
    scale = float(after[row["and"], 0]) / 5
    given = {"Bread": [1, 2, 3, 4], "and": [5, 5, 5, 5], "milk": [-1, 0, 1, 0]}
    for word, numbers in given.items():
        torch.testing.assert_close(after[row[word]], scale * torch.tensor(numbers, dtype=torch.float32))
    assert torch.equal(after[row["salt"]], before[row["salt"]])
    assert torch.equal(after[:4], before[:4])
    found = torch.stack([after[row[word]] for word in given])
    assert float(found.pow(2).mean().sqrt()) == pytest.approx(float(before.pow(2).mean().sqrt()), rel=1e-5)
    assert said == [f"source embeddings: 3 of 4 words are among the 3 in {file} (1 only in lower case)"]


def test_vectors_of_another_width_name_the_option(file: Path) -> None:
    tokenizer = words()

    with pytest.raises(DataError) as caught:
        pretrained.fill(model(tokenizer, d_model=8), tokenizer, EmbeddingsConfig(source=str(file)))

    assert caught.value.hint == "set model.d_model=4"


def test_vectors_of_another_language_are_noticed(file: Path) -> None:
    tokenizer = words()

    with pytest.raises(DataError, match="none of the words"):
        pretrained.fill(model(tokenizer), tokenizer, EmbeddingsConfig(target=str(file)))


@pytest.mark.parametrize("frozen", [True, False])
def test_a_run_begins_with_them_and_leaves_frozen_ones_alone(
    file: Path, frozen: bool, tmp_path: Path
) -> None:
    pairs = [(f"{a} and {b}", f"{b} und {a}") for a in ("bread", "milk", "salt") for b in ("milk", "corn")]
    options = [
        *("tokenizer.kind=words", "tokenizer.vocab_size=20", "tokenizer.shared=false", "model.tie=decoder"),
        *("model.d_model=4", "model.heads=1", "model.d_ff=8", "training.max_updates=3"),
        *(f"embeddings.source={file}", f"embeddings.frozen={str(frozen).lower()}", "training.warmup=1"),
    ]

    translator = train(
        pairs, output=tmp_path / "run", preset="tiny", overrides=options, source_language="en",
        target_language="de",
    )  # fmt: skip

    tokenizer, net = translator.bundle.tokenizer, translator.bundle.model
    rows = [tokenizer.encode_source([word])[0][0] for word in ("bread", "and")]
    bread, and_ = net.source_embedding.weight[rows].detach()
    wanted = float(and_[0]) / 5 * torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert torch.allclose(bread, wanted, rtol=1e-5, atol=0) == frozen


def test_subwords_have_no_word_vectors(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        train(
            PAIRS, output=tmp_path / "run", preset="tiny", overrides=[f"embeddings.source={file}"],
            source_language="en", target_language="de",
        )  # fmt: skip

    assert 'tokenizer.kind="words"' in caught.value.hint
    assert not (tmp_path / "run").exists()
