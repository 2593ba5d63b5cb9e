"""Models with new languages: what they share with the old ones, and the rows of new tokens."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.text.tokenizers.test_extend import NEW, OLD, learnt, mapped

from dragoman.base.errors import ConfigError
from dragoman.models.adapter import AdapterShape
from dragoman.models.folder import bundle
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.check import check_folder
from dragoman.models.folder.extend import extend_folder
from dragoman.models.folder.merge import adapted, rows_of_new, write_adapter
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.models.lora import add_lora, lora_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import base_digest, read_adapter
from dragoman.translation.folder.config import read_config
from dragoman.translation.translator import Translator

WEIGHTS = "model.safetensors"
PLACES = {"source": "source_embedding.weight", "target": "target_embedding.weight", "output": "logits.weight"}


def saved(folder: Path, tokenizer: Tokenizer, **options: Any) -> Path:
    shape = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 1, "decoder_layers": 1} | options
    ids = {name: getattr(tokenizer, name) for name in ("pad_id", "start_id", "end_id")}
    config = TransformerConfig(
        source_vocab=tokenizer.source_size, target_vocab=tokenizer.target_size, **ids, **shape
    )
    torch.manual_seed(3)
    model = build_model(config)
    if config.output_bias:
        torch.nn.init.normal_(model.logits.bias)
    about = {"source_language": "en", "target_language": "de"}
    bundle.save(Bundle(model=model, tokenizer=tokenizer, **about), folder)
    return folder


def logits(model: AnySeq2Seq, source: list[int], target: list[int]) -> torch.Tensor:
    end, start = model.config.end_id, model.config.start_id
    source_BS = torch.tensor([[*source, end]])
    with torch.inference_mode():
        memory = model.encode(source_BS, torch.tensor([source_BS.shape[1]]))
        return model.decode(torch.tensor([[start, *target]]), memory)


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
@pytest.mark.parametrize("output_bias", [False, True])
def test_old_text_has_the_same_logits(tmp_path: Path, tie: str, output_bias: bool) -> None:
    folder = saved(tmp_path / "old", learnt(), tie=tie, output_bias=output_bias)
    added = extend_folder(folder, NEW, ["bg"], tmp_path / "new", pieces=60)
    old, new = bundle.load(folder), bundle.load(tmp_path / "new")

    assert added == "60 pieces and marks of de, bg"
    assert new.directions == (("en", "de"),)
    vocab = old.model.config.target_vocab
    assert new.model.config.target_vocab == new.model.config.source_vocab == vocab + 62
    for line in OLD:
        (source,), (target,) = old.tokenizer.encode_source([line]), old.tokenizer.encode_target([line[::-1]])
        assert new.tokenizer.encode_source([line]) == [source]
        before, after = (logits(one.model, source, target) for one in (old, new))
        assert torch.equal(before, after[..., :vocab])
        assert torch.allclose(before.log_softmax(-1), after.log_softmax(-1)[..., :vocab], atol=1e-6, rtol=0)


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_rows_are_means_of_those_that_spelled_them(tmp_path: Path, tie: str) -> None:
    folder = saved(tmp_path / "old", learnt(), tie=tie)
    extend_folder(folder, NEW, ["bg"], tmp_path / "new", pieces=60)
    old, new = (read_weights(one / WEIGHTS) for one in (folder, tmp_path / "new"))
    tokenizer, before = Tokenizer.load(tmp_path / "new"), Tokenizer.load(folder)

    assert [one for one in PLACES.values() if one in new] == [one for one in PLACES.values() if one in old]
    assert "щ" in tokenizer.source_pieces(range(before.source_size, tokenizer.source_size))
    (i,) = (i for i in range(tokenizer.source_size) if tokenizer.source_pieces([i]) == ["щ"])
    as_bytes = before.encode_source(["щ"])[0][1:]  # behind ▁
    assert before.source_pieces(as_bytes) == ["<0xD1>", "<0x89>"]
    for name in PLACES.values():
        if name in new:
            size = len(old[name])
            assert torch.equal(new[name][:size], old[name])
            assert torch.allclose(new[name][i], old[name][as_bytes].mean(0))
            assert torch.allclose(new[name][-2:], old[name].mean(0).expand(2, -1))  # marks
    assert new.keys() - old.keys() == {"logits.bias"}
    assert new["logits.bias"][:size].eq(0).all()
    assert new["logits.bias"][size:].eq(-30).all()
    rest = old.keys() - PLACES.values()
    assert all(torch.equal(old[name], new[name]) for name in rest)


def test_it_translates_as_before(tmp_path: Path) -> None:
    folder = saved(tmp_path / "old", learnt(kind="unigram"), output_bias=True)
    for name in ("risk.json", "shortlist.safetensors"):
        (folder / name).write_text("{}", encoding="utf-8")
    extend_folder(folder, NEW, ["bg"], tmp_path / "new", pieces=60)
    for name in ("risk.json", "shortlist.safetensors"):
        assert not (tmp_path / "new" / name).exists()
        (folder / name).unlink()
    old, new = Translator.load(folder), Translator.load(tmp_path / "new")

    assert [one.text for one in new.translate(OLD)] == [one.text for one in old.translate(OLD)]
    assert (new.directions, new.sources, new.targets) == ((("en", "de"),), ("en",), ("de",))
    assert all(check.status != "fault" for check in check_folder(tmp_path / "new"))
    assert "| added | 60 pieces and marks of de, bg |" in (tmp_path / "new" / "README.md").read_text()


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
@pytest.mark.parametrize("output_bias", [False, True])
def test_an_adapter_with_the_new_rows_makes_the_old_model_the_new_one(
    tmp_path: Path, tie: str, output_bias: bool
) -> None:
    tokenizer = learnt(kind="unigram", shared=tie == "all")
    folder = saved(tmp_path / "old", tokenizer, tie=tie, output_bias=output_bias)
    extend_folder(folder, NEW, ["bg"], tmp_path / "new", pieces=60)
    config, new = read_config(tmp_path / "new"), bundle.load(tmp_path / "new")
    assert config.extended == (tokenizer.source_size, tokenizer.target_size)
    lora = lora_weights_of(new.model)  # their product is zero
    weights = weights_of(new.model)
    adapter = {**lora, **rows_of_new(weights, config.extended)}
    shape = AdapterShape(rank=1, alpha=1)
    write_adapter(adapter, shape, tmp_path / "adapter", base=tmp_path / "new", name="bg", extended=new)

    for base in ("old", "new"):
        about = read_adapter(tmp_path / "adapter", tmp_path / base, read_config(tmp_path / base))
        both = adapted(bundle.load(tmp_path / base), tmp_path / "adapter", about)
        found = weights_of(both.model)
        assert found.keys() == weights.keys()
        assert all(torch.equal(found[name], weights[name]) for name in weights)
        assert both.tokenizer.languages == ("de", "bg")


def test_a_quantised_extended_model_takes_the_same_adapters(tmp_path: Path) -> None:
    folder = saved(tmp_path / "old", learnt())
    extend_folder(folder, NEW, ["bg"], tmp_path / "new", pieces=10)
    quantise_folder(tmp_path / "new", tmp_path / "int8")
    digests = {base_digest(tmp_path / name, read_config(tmp_path / name)) for name in ("old", "new", "int8")}
    assert len(digests) == 1


def lora_weights_of(model: AnySeq2Seq) -> dict[str, torch.Tensor]:
    copied = copy.deepcopy(model)
    add_lora(copied, rank=1, alpha=1)
    return {name: one.detach() for name, one in lora_weights(copied).items()}


def test_more_languages_later(tmp_path: Path) -> None:
    folder = saved(tmp_path / "old", learnt())
    extend_folder(folder, NEW, ["bg"], tmp_path / "one", pieces=50)
    extend_folder(tmp_path / "one", NEW, ["en", "pl"], tmp_path / "two", pieces=0)
    one, two = (read_weights(tmp_path / name / WEIGHTS) for name in ("one", "two"))

    assert Tokenizer.load(tmp_path / "two").languages == ("de", "bg", "en", "pl")
    assert read_config(tmp_path / "two").directions == (("en", "de"),)
    rows = two["target_embedding.weight"][-2:]
    assert torch.allclose(rows, one["target_embedding.weight"][-2:].mean(0).expand(2, -1))


def test_an_imported_model(tmp_path: Path) -> None:
    folder = saved(tmp_path / "old", mapped(), tie="all", output_bias=True)
    added = extend_folder(folder, NEW, ["bul"], tmp_path / "new", pieces=60)
    old, new = bundle.load(folder), bundle.load(tmp_path / "new")

    assert added.endswith(" pieces and marks of bul")
    assert new.directions == (("en", "deu"), ("en", "fra"))
    with pytest.raises(ConfigError, match="--language de: the model has it already") as error:
        extend_folder(folder, NEW, ["de"], tmp_path / "double", pieces=60)
    assert "deu" in (error.value.hint or "")
    line = ">>fra<< The small window looks over the garden."
    (source,) = old.tokenizer.encode_source([line])
    assert new.tokenizer.encode_source([line]) == [source]
    size = old.model.config.target_vocab
    assert torch.equal(logits(old.model, source, [9, 5]), logits(new.model, source, [9, 5])[..., :size])


def test_what_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "old", learnt())
    quantise_folder(folder, tmp_path / "int8")
    words = saved(tmp_path / "words", learnt(kind="words"))
    letters = saved(tmp_path / "letters", learnt(kind="characters", placeholders=0))
    for model, language, message in (
        (folder, "de", "--language de: the model has it already"),
        (folder, "deu", "--language deu: the model has it already"),
        (folder, "Czech", "--language Czech: not the code of a language"),
        (tmp_path / "int8", "cs", "quantised, to int8"),
        (words, "cs", 'words: tokenizer.kind = "words" has no subwords'),
        (letters, "cs", 'letters: tokenizer.kind = "characters" has no subwords'),
    ):
        with pytest.raises(ConfigError, match=message):
            extend_folder(model, NEW, [language], tmp_path / "new", pieces=9)
        assert not (tmp_path / "new").exists()
    with pytest.raises(ConfigError, match="--language cs: the model has it already"):
        extend_folder(folder, NEW, ["cs", "cs"], tmp_path / "new", pieces=9)
