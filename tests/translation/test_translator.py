"""The public class: lines in, lines out, with any options, engine and model."""

from __future__ import annotations

import asyncio
import math
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest
import torch
from tests.translation.bundles import PAIRS, bundle_of
from tests.translation.letters import BLANK, LINES, Echo, Letters, translator_of
from tests.translation.search.reference import History

from dragoman import Translation, Translator
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.options import entries
from dragoman.interop import source
from dragoman.models.folder.bundle import save
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.native.build import unavailable
from dragoman.translation.search.engine import Engine
from dragoman.translation.search.options import Decoding, DecodingOptions, Sample
from dragoman.translation.terms.terms import Term, TermList

# Lines in, lines out


def test_lines_keep_their_order_and_number(translator: Translator) -> None:
    found = translator.translate(LINES)

    assert [one.source for one in found] == LINES
    assert found == [translator.translate([line])[0] for line in LINES]
    assert found == translator.translate(LINES, batch_tokens=1)
    assert found == translator.translate(iter(LINES))
    assert len({one.text for one in found}) > 4


def test_a_blank_line_is_empty_and_the_model_is_not_asked(translator: Translator, model: History) -> None:
    found = translator.translate(LINES, n_best=2)
    for i in BLANK:
        assert found[i] == Translation(LINES[i], LINES[i].strip(), 0.0, (), (), False)
    assert sum(sentences for sentences, _ in model.encoded) == len(LINES) - len(BLANK)
    model.encoded.clear()
    assert [one.text for one in translator.translate(["", "\t \u3000"])] == ["", ""]
    assert translator.translate([]) == []
    assert model.encoded == []


def test_a_text_keeps_its_lines_and_spaces(translator: Translator) -> None:
    text = "abc. hgf\r\n\n  a\t\nb"
    one, two, three, four = (each.text for each in translator.translate(["abc.", "hgf", "a", "b"]))
    assert translator(text) == f"{one} {two}\r\n\n  {three}\t\n{four}"
    assert translator("") == ""


def test_one_text_or_several_and_one_line_or_several(translator: Translator) -> None:
    texts = ["abc. hgf\n  j", "", "b"]
    assert translator(texts) == [translator(text) for text in texts]
    assert translator(iter(texts)) == translator(tuple(texts))
    assert translator([]) == []
    assert translator.translate("abc") == translator.translate(["abc"])[0]
    assert translator("abc", beam=1) == translator.translate("abc", beam=1).text
    assert translator.translate("abc", prefix="h") == translator.translate(["abc"], prefix="h")[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "a text or a list of texts is needed, not None"),
        (7, "a text or a list of texts is needed, not 7"),
        (["a", None], "line 2 is None, not a string"),
        (b"abc", "line 1 is 97, not a string"),
    ],
)
def test_what_is_no_text_is_a_type_error(translator: Translator, wrong: Any, message: str) -> None:
    for method in (translator, translator.translate):
        with pytest.raises(TypeError, match=message):
            method(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"line": ["abc"]}, {"target": 1}, {"prefix": 1}, {"context": ("a", "b")}, {"context": 1}),
        *({"name": 1}, {"intervention": {"shift": 1}}),
    ],
)
def test_what_is_inspected_is_text(translator: Translator, wrong: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=re.escape(f"{name} is {value!r}, not")):
        translator.inspect(**{"line": "abc", **wrong})


def test_any_engine_will_do_and_answers_in_any_order() -> None:
    engine: Engine = Echo()
    translator = Translator(cast(Any, Letters()), engine, source_language="en", target_language="en")

    assert [one.text for one in translator.translate(["abc", "j", "cab"])] == ["abc", "j", "cab"]
    with pytest.raises(ConfigError, match="no PyTorch model"):
        translator.inspect("abc")


# Options


def test_the_folder_says_how_to_search_unless_told_otherwise(model: History) -> None:
    own = translator_of(model, size=7, length_penalty=2.0, normalization="power")
    spelled = translator_of(model).translate(LINES, beam=7, length_penalty=2.0, normalization="power")

    assert own.translate(LINES) == spelled
    assert own.translate(LINES) != own.translate(LINES, beam=1)
    assert own.translate(LINES, beam=4, length_penalty=0.6, normalization="gnmt") == translator_of(
        model
    ).translate(LINES)


def test_the_best_come_first_and_widen_the_beam_of_the_folder(translator: Translator) -> None:
    (one,) = translator.translate(["abcde"], n_best=6)
    scores = [one.score, *(other.score for other in one.alternatives)]

    assert len(one.alternatives) == 5
    assert scores == sorted(scores, reverse=True)
    assert len({one.text, *(other.text for other in one.alternatives)}) == 6
    with pytest.raises(ConfigError, match="6 translations from a beam of 4"):
        translator.translate(["abcde"], n_best=6, beam=4)


def test_samples_are_seeded_and_know_no_neighbours(translator: Translator) -> None:
    found = translator.translate(LINES, sample=Sample(seed=3), n_best=2)

    assert found == translator.translate(LINES, sample=Sample(seed=3, n_best=2), batch_tokens=1)
    assert found[3] == translator.translate([LINES[3]], sample=Sample(seed=3), n_best=2)[0]
    assert found != translator.translate(LINES, sample=Sample(seed=4), n_best=2)
    with pytest.raises(ConfigError, match="sampling"):
        translator.translate(LINES, sample=Sample(), beam=4)


@pytest.mark.parametrize(
    "option",
    [
        {"minimum_length": -1},
        {"no_repeat_ngram": -1},
        {"max_extra_tokens": -1},
        {"max_source_tokens": 0},
        {"batch_tokens": 0},
        {"beam": 0},
        {"n_best": 0},
        {"length_penalty": math.nan},
        {"normalization": "none"},
        {"stop": "soon"},
        {"attention": "0"},
        {"sample": Sample(), "stop": "exact"},
        {"sample": Sample(n_best=5), "mbr": "chrf"},
        {"sample": Sample(n_best=5), "n_best": 3},
    ],
    ids=str,
)
def test_senseless_options_are_refused_at_once(translator: Translator, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        translator.stream(LINES, **option)
    assert caught.value.hint
    with pytest.raises(ConfigError):
        translator.translate([], **option)


def test_a_shortlist_that_the_model_lacks_is_refused_at_once(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="no shortlist") as caught:
        translator.stream(LINES, shortlist=True)
    assert "dragoman model shortlist" in str(caught.value.hint)


def test_options_come_as_an_object_as_keywords_or_both(translator: Translator) -> None:
    keywords = translator.translate(LINES, beam=2, n_best=2, no_repeat_ngram=1)

    assert translator.translate(LINES, Decoding(beam=2, n_best=2, no_repeat_ngram=1)) == keywords
    assert translator.translate(LINES, Decoding(beam=7, n_best=2), beam=2, no_repeat_ngram=1) == keywords
    assert list(translator.stream(LINES, Decoding(beam=2, n_best=2), no_repeat_ngram=1)) == keywords


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("beams", "unknown decoding options: beams; did you mean beam?"),
        ("temprature", "temprature; did you mean temperature?"),
        ("xyz", "xyz; there are beam, n_best, "),
    ],
)
def test_an_unknown_option_is_told_a_likely_one(translator: Translator, option: str, message: str) -> None:
    for method in (translator, translator.translate, translator.stream, translator.inspect):
        with pytest.raises(TypeError, match=re.escape(message)):
            method(["abc"], **{option: 2})


def test_draws_need_no_sample_object(translator: Translator) -> None:
    drawn = translator.translate(LINES, temperature=0.5, top_k=3, top_p=0.9, seed=7, n_best=2)

    sample = Sample(temperature=0.5, top_k=3, top_p=0.9, seed=7)
    assert drawn == translator.translate(LINES, sample=sample, n_best=2)
    assert drawn == translator.translate(LINES, Decoding(sample=sample), n_best=2, seed=7)
    assert drawn == translator.translate(LINES, sample=replace(sample, top_k=9), top_k=3, n_best=2)
    with pytest.raises(ConfigError, match="temperature = 0"):
        translator.translate(LINES, temperature=0)


def test_the_keywords_are_the_fields_of_decoding_and_of_its_sample() -> None:
    fields = {entry.name: entry.kind for entry in entries(Decoding).values()}
    draws = {entry.name: entry.kind for entry in entries(Sample).values()}
    draws = {name: draws[name] for name in ("temperature", "top_k", "top_p", "seed")}
    assert get_type_hints(DecodingOptions) == fields | draws


# The model


def transformer(**options: Any) -> Transformer:
    torch.manual_seed(1)
    shape = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1} | options
    return Transformer(TransformerConfig(source_vocab=14, target_vocab=14, **shape))


def test_a_model_in_training_is_tried_without_dropout_and_left_in_training() -> None:
    model = transformer(dropout=0.5).train()
    translator = translator_of(model)

    assert translator.translate(LINES) == translator.translate(LINES)
    assert translator.score(["abc"], ["abc"]) == translator.score(["abc"], ["abc"])
    assert all(module.training for module in model.modules())
    source_BS, target_BT = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6]])
    model(source_BS, torch.tensor([3]), target_BT).sum().backward()  # and its gradients still flow
    model.eval()
    translator.translate(LINES)
    assert not model.training


def test_a_model_with_broken_weights_is_an_error() -> None:
    model = transformer()
    torch.nn.init.constant_(model.logits.weight, math.nan)
    with pytest.raises(ModelError, match="no probabilities"):
        translator_of(model).translate(["abc"])


def test_a_very_long_line_is_translated_beside_short_ones() -> None:
    model = transformer(output_bias=True)
    torch.nn.init.constant_(model.logits.bias[2:3], 50.0)  # it ends when it may
    lines = ["abc", "abcdefghij" * 300, "j"]
    found = translator_of(model).translate(lines, minimum_length=3, batch_tokens=64, split=False)

    assert [len(one.tokens) for one in found] == [3, 3, 3]
    assert not any(one.truncated for one in found)


def test_a_saved_model_translates_the_same(tmp_path: Path) -> None:
    bundle = bundle_of("bpe")
    save(bundle, tmp_path)
    loaded = Translator.load(str(tmp_path), device="cpu", engine="pytorch")
    lines = [source for source, _ in PAIRS]

    assert loaded.translate(lines, n_best=2) == Translator.of(bundle).translate(lines, n_best=2)
    assert (loaded.source_language, loaded.target_language) == ("en", "de")
    with pytest.raises(ModelError, match="no such model folder"):
        Translator.load(tmp_path / "elsewhere")


def test_a_name_on_the_hub_is_downloaded_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(bundle_of("bpe"), tmp_path / "model")
    asked: list[str] = []

    def download(name: str, *, revision: str | None = None) -> Path:
        asked.append(name)
        return tmp_path / "model"

    monkeypatch.setattr(source, "download", download)
    with pytest.raises(ModelError, match="some/model: no such model folder") as caught:
        Translator.load("some/model")
    assert "download=True" in caught.value.hint
    assert asked == []
    assert Translator.load("some/model", download=True, engine="pytorch").target_language == "de"
    assert asked == ["some/model"]


# In a notebook, in other processes, with asyncio


def test_what_is_printed(translator: Translator, tmp_path: Path) -> None:
    (one,) = translator.translate(["abc"], n_best=2)
    assert str(one) == f"{one}" == one.text
    assert repr(one) == f"<Translation 'abc' -> {one.text!r}, {one.score:.4f}, 1 alternatives>"
    assert repr(translator) == "<Translator en to de, PyTorchEngine>"
    save(bundle_of("bpe"), tmp_path / "model")
    loaded = Translator.load(tmp_path / "model", engine="pytorch")
    terms = TermList([Term("cat", ("Katze",))], "en", "de")
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        shown = repr(loaded.using(terms=terms, memory=memory))
    assert shown == (
        f"<Translator en to de, PyTorchEngine, {str(tmp_path / 'model')!r}, 1 terms, "
        f"memory {str(tmp_path / 'a.tm')!r}>"
    )
    assert repr(Translator.ensemble([loaded, loaded])) == "<Translator en to de, PyTorchEngine, 2 models>"


def test_dir_shows_what_is_documented(translator: Translator) -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    section = page.partition("## Translator\n")[2].partition("\n## ")[0]
    table = section.partition("| attribute ")[2].partition("\n\n")[0]
    documented = {*re.findall(r"^Translator\.([a-z]\w+)\(", section, re.MULTILINE)}
    for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE):
        documented |= {*re.findall(r"\w+", cell)}
    assert dir(translator) == sorted(documented)
    assert all(hasattr(translator, name) for name in documented - {"bundle"})


def test_a_translator_pickles_by_its_folder_and_options(tmp_path: Path) -> None:
    save(bundle_of("bpe"), tmp_path / "model")
    loaded = Translator.load(tmp_path / "model", engine="pytorch", device="cpu")
    terms = TermList([Term("cat", ("Katze",))], "en", "de")
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        memory.add("The cat.", "Die Mieze.")
        using = loaded.using(terms=terms, memory=memory, match_least=90)
    lines = ["The cat.", "The cat sleeps."]
    expected = [one.text for one in using.translate(lines)]
    pickled = pickle.dumps(using)
    assert len(pickled) < 2_000  # no weights
    again = pickle.loads(pickled)  # noqa: S301
    assert [one.text for one in again.translate(lines)] == expected
    assert again.memory.least == 90
    assert type(again.engine) is type(using.engine)
    both = pickle.loads(pickle.dumps(Translator.ensemble([loaded, loaded], average="probabilities")))  # noqa: S301
    assert both.models == 2
    with pytest.raises(TypeError, match="save the model and load it"):
        pickle.dumps(Translator.of(bundle_of("bpe")))


@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_translations_can_be_awaited() -> None:
    """Texts of several tasks are translated at the same time, each in a thread."""
    translator = Translator.load(Path(__file__).parents[1] / "saved/0.1/transformer", engine="native")
    texts = [pair[0] for pair in PAIRS] * 5

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(asyncio.to_thread(translator, text) for text in texts))

    assert asyncio.run(all_of_them()) == translator(texts)
