"""Argos packages: what is in them, what they cannot hold, and the texts that Argos Translate makes with them.

The reference is Argos Translate itself, installed package and all, in a process of its own.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tests.interop.memorised import PAIRS, SOURCES, memorised, random_bundle, tokenizer

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.interop import argos
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import PyTorchEngine
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import MinimumLength

pytest.importorskip("ctranslate2")

SHARED = tokenizer()
# Found, not imported: importing it creates folders in the user's home.
installed = pytest.mark.skipif(find_spec("argostranslate") is None, reason="no Argos Translate")


@pytest.fixture(scope="module")
def trained() -> Bundle:
    return memorised(random_bundle(SHARED, d_model=32, encoder_layers=1, dropout=0.0))


def our_texts(bundle: Bundle, lines: list[str]) -> list[str]:
    """Our translations, asked for what Argos Translate asks CTranslate2 for."""
    how = Beam(size=4, length_penalty=0.2, normalization="power")
    requests = [
        Request(source=source, how=how, max_tokens=256, rules=(MinimumLength(1),))
        for source in bundle.tokenizer.encode_source(lines)
    ]
    found = dict(PyTorchEngine(bundle.model).search(requests))
    return [bundle.tokenizer.decode(found[number][0].tokens) for number in range(len(lines))]


def splitter(path: Path) -> Path:
    """A model as MiniSBD runs it: a sentence ends at each full stop, exclamation and question mark."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("minisbd")
    units = ["<PAD>", "<UNK>", *".!?"]
    labels = [[0.0] * 5 for _ in units]
    for unit, row in enumerate(labels):
        row[2 if unit > 1 else 0] = 1.0  # label 2 is the end of a sentence
    make, kinds = onnx.helper, onnx.TensorProto
    graph = make.make_graph(
        [make.make_node("Gather", ["labels", "units"], ["predictions"])],
        "splitter",
        [
            make.make_tensor_value_info("units", kinds.INT64, ["n", "t"]),
            make.make_tensor_value_info("features", kinds.FLOAT, ["n", "t", 1]),
        ],
        [make.make_tensor_value_info("predictions", kinds.FLOAT, ["n", "t", 5])],
        [make.make_tensor("labels", kinds.FLOAT, [len(units), 5], [x for row in labels for x in row])],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    vocabulary = {"lang": "en", "_id2unit": units, "_unit2id": {unit: i for i, unit in enumerate(units)}}
    config = {"feat_funcs": ["space_before"], "batch_size": 8}
    make.set_model_props(
        model, {"lang_code": "en", "config": json.dumps(config), "vocab": json.dumps(vocabulary)}
    )
    onnx.save(model, str(path))
    return path


@installed
def test_argos_translate_installs_a_package_and_gives_our_translations(
    trained: Bundle, tmp_path: Path
) -> None:
    """Without a network: the package has a splitter. Two sentences of a line are translated separately."""
    package = tmp_path / "en_de.argosmodel"
    argos.write(trained, package, splitter=splitter(tmp_path / "en.onnx"))
    program = argos.ArgosTranslate(package, compute_type="default")
    texts = program.translate([*SOURCES, "", f"{SOURCES[8]} {SOURCES[0]}"])
    ours = our_texts(trained, SOURCES)
    assert texts == [*ours, "", f"{ours[8]} {ours[0]}"]
    assert sum(text == target for text, (_, target) in zip(ours, PAIRS, strict=True)) >= len(PAIRS) - 2
    assert program.name.startswith("Argos Translate 1.")


@installed
@pytest.mark.slow
@pytest.mark.parametrize("quantization", [None, "int8"])
def test_verify_compares_texts_and_scores(quantization: str | None, trained: Bundle, tmp_path: Path) -> None:
    package = tmp_path / "en_de.argosmodel"
    argos.write(trained, package, quantization=quantization)
    comparison = argos.verify(trained, package, [*SOURCES, "", " spaces ", "snake_case ☃"])
    assert comparison.lines == len(SOURCES) + 3
    assert comparison.worst < 1e-5
    assert ("with int8 weights" in str(comparison)) == (quantization == "int8")


@installed
@pytest.mark.slow
def test_a_damaged_package_is_an_error_of_one_line(trained: Bundle, tmp_path: Path) -> None:
    package = tmp_path / "en_de.argosmodel"
    argos.write(trained, package)
    package.write_bytes(package.read_bytes()[:2000])
    with pytest.raises(DragomanError, match="cannot use it") as caught:
        argos.ArgosTranslate(package).translate(SOURCES)
    assert "\n" not in str(caught.value)


def test_what_is_in_a_package(trained: Bundle, tmp_path: Path) -> None:
    package = tmp_path / "en_de.argosmodel"
    argos.write(trained, package, quantization="int8")
    with zipfile.ZipFile(package) as archive:
        names = {name.removeprefix("translate-en_de-1_0/") for name in archive.namelist()}
        metadata = json.loads(archive.read("translate-en_de-1_0/metadata.json"))
        readme = archive.read("translate-en_de-1_0/README.md").decode()
    model = {"model/config.json", "model/model.bin", "model/shared_vocabulary.json"}
    assert names == model | {"metadata.json", "README.md", "sentencepiece.model"}
    assert metadata == {
        "package_version": "1.0",
        "argos_version": "1.9",
        "from_code": "en",
        "from_name": "English",
        "to_code": "de",
        "to_name": "German",
        "type": "translate",
    }
    assert readme.startswith("# English to German\n")


def test_lower_casing_is_in_the_tokenizer_of_the_package(tmp_path: Path) -> None:
    """Also if it is for the source alone: the target's is the same but for that, and only joins pieces."""
    cutter = tokenizer(lowercase="source")
    argos.write(random_bundle(cutter), tmp_path / "a.argosmodel")
    with zipfile.ZipFile(tmp_path / "a.argosmodel") as archive:
        assert len([name for name in archive.namelist() if "/model/" in name]) == 3
        model = archive.read("translate-en_de-1_0/sentencepiece.model")
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.encode("OLD Stones") == cutter.encode_source(["OLD Stones"])[0]
    target = cutter.encode_target(["Alte Steine"])[0]
    assert processor.decode(cutter.target_pieces(target)) == "Alte Steine"


def test_notes_say_how_argos_translate_searches(trained: Bundle) -> None:
    search, splitting = argos.notes(trained)
    assert "a beam of 4" in search
    assert "English" in splitting


def test_equal_models_give_equal_packages(trained: Bundle, tmp_path: Path) -> None:
    for name in ("a.argosmodel", "b.argosmodel"):
        argos.write(trained, tmp_path / name)
    assert (tmp_path / "a.argosmodel").read_bytes() == (tmp_path / "b.argosmodel").read_bytes()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", ("en", "English")),
        ("deu", ("de", "German")),
        ("de-AT", ("de", "German")),
        ("fra_Latn", ("fr", "French")),
        ("pt-BR", ("pb", "Portuguese (Brazil)")),
        ("pt", ("pt", "Portuguese")),
        ("zho_Hant", ("zt", "Chinese (traditional)")),
        ("zh-Hans", ("zh", "Chinese")),
        ("gd", ("gd", "Scottish Gaelic")),
        ("tlh", ("tlh", "tlh")),
    ],
)
def test_languages_have_the_codes_of_argos_translate(code: str, expected: tuple[str, str]) -> None:
    assert argos.language(code) == expected


def imported(**options: Any) -> Tokenizer:
    """A tokenizer of an imported model, with these options and a target language."""
    specials = Specials(pad=0, start=0, end=1, unknown=2)
    model = SHARED.vocabularies[0].to_files()[".spm"]
    side = Mapped(model, ["<pad>", "</s>", "<unk>", ">>deu<<", "▁", "a"], specials)
    return Tokenizer(TokenizerConfig(kind="mapped", **options), side, side, specials=specials)


@pytest.mark.parametrize(
    ("cutter", "reasons"),
    [
        (tokenizer(kind="words"), ["a tokenizer of words"]),
        (tokenizer(shared=False, vocab_size=80), ["two SentencePiece models"]),
        (imported(punctuation="en"), ["normalised punctuation", "a choice of target languages"]),
    ],
    ids=["words", "two", "imported"],
)
def test_what_a_package_cannot_hold_is_refused(cutter: Tokenizer, reasons: list[str], tmp_path: Path) -> None:
    ids = {"pad_id": cutter.pad_id, "start_id": cutter.start_id, "end_id": cutter.end_id}
    bundle = random_bundle(cutter, tie="none", **ids)
    for reason, found in zip(reasons, argos.unsupported(bundle), strict=True):
        assert found.startswith(reason)
    package = tmp_path / "kept.argosmodel"
    package.write_bytes(b"as it was")
    with pytest.raises(ConfigError, match=reasons[-1]):
        argos.write(bundle, package)
    assert package.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [package]


def test_unknown_languages_and_two_names_of_one_are_refused(trained: Bundle) -> None:
    bundle = replace(trained, source_language="eng", target_language="en-GB")
    assert argos.unsupported(bundle) == ["a translation from en to en: Argos Translate copies such text"]
    bundle = replace(trained, source_language="und", target_language="und")
    assert argos.unsupported(bundle) == ["unknown languages: a package needs the codes of both"]


def test_what_ctranslate2_cannot_hold_is_refused_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ALiBi"):
        argos.write(random_bundle(SHARED, positions="alibi"), tmp_path / "a.argosmodel")
    assert not list(tmp_path.iterdir())


def test_a_splitter_that_is_missing_is_named(trained: Bundle, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="en.onnx: no such file"):
        argos.write(trained, tmp_path / "a.argosmodel", splitter=tmp_path / "en.onnx")
    assert not list(tmp_path.iterdir())
