"""The pipeline answers as `TranslationPipeline` of transformers 4 did.

The shape of its answers is that of transformers 4.24, src/transformers/pipelines/text2text_generation.py. The
texts are compared with what `generate` of the installed transformers gives with the same options.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.interop import huggingface
from dragoman.pipeline import Pipeline
from tests.interop import opus

transformers = pytest.importorskip("transformers", reason="transformers, the reference, is not installed")

TEXTS = ["Two dogs run through the deep snow.", "An old boat lies near the bridge.", "Children play football"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opus.save(tmp_path_factory.mktemp("model"), separate=True, activation_function="relu")


@pytest.fixture(scope="module")
def reference(folder: Path) -> tuple[Any, Any]:
    return (
        transformers.MarianMTModel.from_pretrained(folder),
        transformers.MarianTokenizer.from_pretrained(folder),
    )


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator.of(huggingface.read(folder))


@pytest.fixture(scope="module")
def pipe(translator: Translator) -> Pipeline:
    return translator.pipeline()


def test_a_text_gives_a_list_of_one(pipe: Pipeline, translator: Translator) -> None:
    assert pipe(TEXTS[0]) == [{"translation_text": translator(TEXTS[0])}]


def test_a_list_gives_one_result_a_text(pipe: Pipeline, translator: Translator) -> None:
    assert pipe(TEXTS) == [{"translation_text": each.text} for each in translator.translate(TEXTS)]
    assert pipe(TEXTS[:1]) == pipe(TEXTS)[:1]
    assert pipe([]) == []


def test_several_results_a_text(pipe: Pipeline, translator: Translator) -> None:
    """One text gives a flat list, a list of texts a list of lists."""
    two = pipe(TEXTS[0], num_return_sequences=2)
    (best,) = translator.translate(TEXTS[:1], n_best=2)
    assert two == [{"translation_text": text} for text in (best.text, best.alternatives[0].text)]
    assert pipe(TEXTS, num_return_sequences=2)[0] == two
    assert [len(each) for each in pipe(TEXTS, num_return_sequences=2)] == [2, 2, 2]


def test_a_generator_gives_a_generator_of_lists(pipe: Pipeline) -> None:
    answers = pipe(text for text in TEXTS)
    assert isinstance(answers, Iterator)
    assert list(answers) == [pipe(text) for text in TEXTS]


def test_a_blank_text_has_an_empty_translation(pipe: Pipeline) -> None:
    assert pipe(["", TEXTS[0], "  "])[::2] == [{"translation_text": ""}] * 2


@pytest.mark.parametrize(
    "options",
    [
        # With a beam above 1 no translation may reach the limit: transformers ends it there free of charge.
        {"num_beams": 1},
        {"num_beams": 3, "num_return_sequences": 3},
        {"num_beams": 4, "length_penalty": 0.0, "early_stopping": True},
        {"num_beams": 4, "length_penalty": 0.5, "early_stopping": "never"},
        {"num_beams": 1, "max_length": 6},
        {"num_beams": 1, "max_new_tokens": 3},
        {"num_beams": 1, "min_length": 12, "max_length": 30},
        {"num_beams": 1, "no_repeat_ngram_size": 2, "max_length": 30},
        {"num_beams": 1, "num_return_sequences": None, "truncation": True, "batch_size": 2},
    ],
    ids=str,
)
def test_options_mean_what_they_mean_in_transformers(
    options: dict[str, Any], pipe: Pipeline, reference: tuple[Any, Any]
) -> None:
    model, tokenizer = reference
    of_pipeline = ("truncation", "batch_size")
    given = {name: value for name, value in options.items() if name not in of_pipeline and value is not None}
    for text in TEXTS:
        inputs = tokenizer(text, return_tensors="pt")
        if not {"max_length", "max_new_tokens"} & given.keys():
            given["max_new_tokens"] = inputs["input_ids"].shape[1] - 1 + 51
        generated = model.generate(**inputs, **given)
        texts = tokenizer.batch_decode(generated, skip_special_tokens=True)
        given = {name: given[name] for name in given if name in options}

        assert [each["translation_text"] for each in pipe(text, **options)] == texts


def test_tokens_in_place_of_text(pipe: Pipeline, reference: tuple[Any, Any]) -> None:
    model, tokenizer = reference
    generated = model.generate(
        **tokenizer(TEXTS[0], return_tensors="pt"), num_beams=2, max_length=None, max_new_tokens=30
    )

    (result,) = pipe(TEXTS[0], num_beams=2, max_new_tokens=30, return_tensors=True)

    assert list(result) == ["translation_token_ids"]
    assert torch.equal(result["translation_token_ids"], generated[0])


def test_options_of_the_pipeline_are_the_defaults_of_its_calls(translator: Translator) -> None:
    pipe = translator.pipeline(num_beams=1, num_return_sequences=1, max_length=6)
    plain = translator.pipeline()

    assert pipe(TEXTS) == plain(TEXTS, num_beams=1, max_length=6)
    assert pipe(TEXTS, max_length=4) == plain(TEXTS, num_beams=1, max_length=4)
    assert pipe(TEXTS, max_length=None) == plain(TEXTS, num_beams=1)


def test_the_language_begins_the_source(tmp_path: Path) -> None:
    translator = Translator.of(huggingface.read(opus.save(tmp_path, languages=opus.LANGUAGES)))
    pipe = translator.pipeline(src_lang="en", tgt_lang="fra")

    assert pipe(TEXTS[0]) == [{"translation_text": translator(f">>fra<< {TEXTS[0]}")}]
    assert pipe(TEXTS[0], tgt_lang="por_BR")[0]["translation_text"] == translator(f">>por_BR<< {TEXTS[0]}")
    assert pipe("", tgt_lang="deu") == [{"translation_text": ""}]
    with pytest.raises(ConfigError, match="tgt_lang = 'ita'") as error:
        pipe(TEXTS, tgt_lang="ita")
    assert "deu, fra, por_BR" in error.value.hint


def test_a_model_of_one_pair_refuses_another_language(pipe: Pipeline) -> None:
    assert pipe(TEXTS[0], src_lang="en", tgt_lang="de") == pipe(TEXTS[0])
    with pytest.raises(ConfigError, match="tgt_lang = 'fr'") as error:
        pipe(TEXTS[0], tgt_lang="fr")
    assert "this model has de" in error.value.hint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repetition_penalty": 1.3}, "does not support repetition_penalty"),
        ({"top_k": 5, "top_p": 0.9}, "does not support top_k, top_p"),
        ({"do_sample": True}, "does not support do_sample=True"),
        ({"clean_up_tokenization_spaces": True}, "does not support clean_up_tokenization_spaces=True"),
        ({"max_length": 20, "max_new_tokens": 20}, "max_length and max_new_tokens"),
        ({"num_beams": 0}, "num_beams = 0"),
        ({"num_beams": 2, "num_return_sequences": 3}, "3 translations from a beam of 2"),
        ({"max_length": "long"}, "max_length = 'long'"),
        ({"max_length": 1}, "max_length = 1"),
        ({"early_stopping": "always"}, "early_stopping = 'always'"),
        ({"truncation": "last"}, "truncation = 'last'"),
        ({"length_penalty": "none"}, "length_penalty"),
    ],
    ids=str,
)
def test_other_options_are_refused_by_name(
    options: dict[str, Any], message: str, pipe: Pipeline, translator: Translator
) -> None:
    for call in (lambda: pipe(TEXTS, **options), lambda: translator.pipeline(**options)):
        with pytest.raises(ConfigError) as error:
            call()
        assert message in str(error.value)
        assert error.value.hint


def test_options_that_are_off_are_no_options(pipe: Pipeline) -> None:
    off = {"do_sample": False, "clean_up_tokenization_spaces": False, "truncation": False, "num_beams": None}
    assert pipe(TEXTS, **off) == pipe(TEXTS)


@pytest.mark.parametrize("texts", [5, [1, 2], [["a"]], None], ids=str)
def test_only_texts_are_translated(texts: Any, pipe: Pipeline) -> None:
    with pytest.raises(TypeError, match="a text or a list of texts"):
        pipe(texts)


def test_a_translation_is_one_line(translator: Translator) -> None:
    """As of `Translator.translate`: with byte fallback a line break can be generated."""
    pipe = translator.pipeline()
    for text, plain in zip(TEXTS, translator.translate(TEXTS, beam=2), strict=True):
        assert pipe(text, num_beams=2)[0]["translation_text"] == plain.text
