"""M2M-100, NLLB-200 and mBART-50 come in from Hugging Face. The reference is transformers itself."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.interop import multilingual_models as models
from tests.interop.multilingual_models import KINDS, LANGUAGES, Kind
from tests.interop.opus import edit
from tests.text.sentences import DELICATE

from dragoman import Translator
from dragoman.base.errors import DragomanError, ModelError
from dragoman.interop import huggingface
from dragoman.interop.imports import import_model
from dragoman.models.folder.bundle import Bundle, save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.search.engine import PyTorchEngine, pad
from dragoman.text.tokenizers.marks import mark
from dragoman.text.toy.corpus import pairs
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import place_weights
from dragoman.translation.search.engine import Engine, Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import Prefix

pytest.importorskip("transformers", reason="transformers, the reference, is not installed")

pytestmark = pytest.mark.thorough
LIMIT = 20


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture(scope="module")
def folder(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.save(tmp_path_factory.mktemp(kind), kind)


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return huggingface.read(folder)


@pytest.fixture(scope="module")
def program(folder: Path, bundle: Bundle, kind: Kind) -> huggingface.Program:
    return huggingface.Program(folder, start=bundle.tokenizer.target_start(LANGUAGES[kind][0]))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def lines_of(kind: Kind, count: int) -> list[str]:
    """Sentences behind the mark of their language."""
    return [f"{mark(LANGUAGES[kind][1])} {line}" for line, _ in pairs(seed=5, count=count)]


# The network


def test_the_shape(bundle: Bundle, kind: Kind) -> None:
    shape: Any = bundle.model.config

    assert shape.positions == ("learned-apart" if kind == "mbart" else "learned")
    assert shape.embedding_norm is (kind == "mbart")
    assert (shape.norm, shape.tie, shape.output_bias) == ("pre", "all", kind == "mbart")
    assert (shape.pad_id, shape.start_id, shape.end_id) == (1, 2, 2)
    assert (bundle.source_language, bundle.target_language, bundle.directions) == ("mul", "mul", ())


def test_logits_are_the_same(bundle: Bundle, program: huggingface.Program, kind: Kind) -> None:
    sources = bundle.tokenizer.encode_source(lines_of(kind, 10))
    both = [(source, source[:0:-1]) for source in sources]
    for (source, target), its_TV in zip(both, program.logits(both), strict=True):
        with torch.no_grad():
            memory = bundle.model.encode(*pad([source], 1, 2))
            logits_TV = bundle.model.decode(torch.tensor([[2, *target]]), memory)[0]
        torch.testing.assert_close(logits_TV, its_TV, rtol=1e-6, atol=2e-5)


def engines(bundle: Bundle) -> list[Engine]:
    native = build.unavailable() is None
    return [PyTorchEngine(bundle.model)] + (
        [NativeEngine(bundle.model.config, place_weights(bundle.model), dtype="float32", threads=1)]
        if native
        else []
    )


def found_by(engine: Engine, bundle: Bundle, sources: Sequence[list[int]], how: Beam, kind: Kind) -> Any:
    start = bundle.tokenizer.target_start(LANGUAGES[kind][0])
    requests = [
        Request(source=source, how=how, max_tokens=LIMIT, rules=(Prefix(start),), unscored=1)
        for source in sources
    ]
    found = dict(engine.search(requests))
    return [found[number] for number in range(len(sources))]


@pytest.mark.parametrize(
    ("beam", "count"), [(1, 30), (4, 12), *(pytest.param(n, 500, marks=pytest.mark.slow) for n in (1, 4))]
)
def test_translations_are_the_same(
    beam: int, count: int, bundle: Bundle, program: huggingface.Program, kind: Kind
) -> None:
    """At the limit the end costs nothing in transformers, so these translations are left out."""
    sources = bundle.tokenizer.encode_source(lines_of(kind, count))
    how = Beam(size=beam, n_best=1, length_penalty=1.0, normalization="power", stop="full")
    theirs = program.search(sources, beam=beam, max_tokens=LIMIT, early_stopping=True)

    for engine in engines(bundle):
        ours = found_by(engine, bundle, sources, how, kind)
        compared = [n for n in range(count) if len(theirs[n][0][0]) < LIMIT and not ours[n][0].truncated]
        assert len(compared) > count / 4
        assert [list(ours[n][0].tokens) for n in compared] == [theirs[n][0][0] for n in compared]
        if beam > 1:
            scores = [theirs[n][0][1] for n in compared]
            assert [ours[n][0].score for n in compared] == pytest.approx(scores, abs=1e-4)
        assert all(each[0].token_logp[0] == 0 for each in ours)  # of the mark
    assert len({len(each[0][0]) for each in theirs}) > 2


def test_the_comparison_at_import_agrees(folder: Path, kind: Kind, tmp_path: Path) -> None:
    imported = import_model(str(folder), tmp_path / "out", lines=[line for line, _ in pairs(seed=7, count=6)])

    assert imported.comparison is not None
    assert imported.comparison.lines == 6
    assert imported.comparison.worst < 1e-5
    languages = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (languages["source_language"], languages["target_language"]) == ("mul", "mul")


def test_a_wrong_mark_is_noticed(tmp_path: Path) -> None:
    kind: Kind = "nllb"
    folder = models.save(tmp_path, kind)
    bundle = huggingface.read(folder)
    german, english, _ = (bundle.tokenizer.target_start(one) for one in LANGUAGES[kind])
    program = huggingface.Program(folder, start=english)

    with pytest.raises(DragomanError, match="disagrees on the translation"):
        huggingface.program.comparing.verify(bundle, program, lines_of(kind, 4), start=german)


def test_a_translator_chooses_languages(folder: Path, kind: Kind, tmp_path: Path) -> None:
    from dragoman import Translation

    bundle, translator = huggingface.read(folder), Translator.load(folder, device="cpu")
    lines = [line for line, _ in pairs(seed=9, count=6)]
    program = huggingface.Program(folder, start=bundle.tokenizer.target_start(LANGUAGES[kind][0]))
    marked = [f"{mark(LANGUAGES[kind][1])} {line}" for line in lines]

    found: list[Translation] = translator.translate(lines, source="en", to="de", beam=1, split=False)

    sources = program.encode(marked)
    theirs = program.translate(sources, [1 + len(source) + 50 for source in sources])
    assert [each.text for each in found] == [bundle.tokenizer.decode(tokens[1:]) for tokens in theirs]
    assert "fr" in {language[:2] for language in translator.targets}
    other = translator.translate(lines, source="en", to="fr", beam=1, split=False)
    assert [each.text for each in other] != [each.text for each in found]


@pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")
def test_int8_translates_nearly_the_same(bundle: Bundle, kind: Kind, tmp_path: Path) -> None:
    save(bundle, tmp_path / "float32")
    quantise_folder(tmp_path / "float32", tmp_path / "int8")
    lines = [line for line, _ in pairs(seed=9, count=20)]

    whole, small = (
        Translator.load(tmp_path / name, engine="native").score(
            lines, lines[::-1], source=LANGUAGES[kind][1], to=LANGUAGES[kind][0]
        )
        for name in ("float32", "int8")
    )

    for one, other in zip(whole, small, strict=True):
        assert other.score == pytest.approx(one.score, rel=0.05)


# The text


def texts() -> list[str]:
    rng = random.Random(1)
    words = [word for line, other in pairs(seed=3, count=40) for word in (*line.split(), *other.split())]
    odd = [*DELICATE, "▁a", "①", "…", "½", "ß", "犬", "犬犬", "🙂", "ﬁn", "Straße", "1,234.50"]
    mixed = [
        "".join(rng.choice(["", " ", "  "]) + rng.choice(rng.choice([words, odd])) for _ in range(5))
        for _ in range(200)
    ]
    return [line for line in map(str.strip, [*odd, *mixed]) if line and not line.startswith(("▁", ">>"))]


def test_text_becomes_the_same_tokens(bundle: Bundle, program: huggingface.Program, kind: Kind) -> None:
    """Except the names of tokens, and a last character that becomes a space, which transformers keeps."""
    names = ("</s>", "<unk>", "<pad>", "<s>", "<mask>")
    lines = [line for line in texts() if not any(name in line for name in names) and line[-1] != "\ufffd"]
    marked = [f"{mark(LANGUAGES[kind][n % 3])} {line}" for n, line in enumerate(lines)]
    assert len(lines) > 150

    assert bundle.tokenizer.encode_source(marked) == program.encode(marked)
    assert bundle.tokenizer.encode_source(lines) == program.encode(lines)
    assert any(3 in ids for ids in program.encode(lines))  # unknown


def test_tokens_become_the_same_text(bundle: Bundle, program: huggingface.Program, kind: Kind) -> None:
    rng = random.Random(2)
    end = 220 if kind == "m2m" else bundle.model.config.target_vocab  # it shows the languages of M2M-100
    targets = [rng.choices(range(4, end), k=rng.randint(0, 9)) for _ in range(200)]

    theirs = [text.strip() for text in program.decode(targets)]
    assert [bundle.tokenizer.decode(target) for target in targets] == theirs


def test_languages_are_marks(bundle: Bundle, program: huggingface.Program, kind: Kind) -> None:
    for language in LANGUAGES[kind]:
        (ids,) = bundle.tokenizer.encode_source([f"{mark(language)} x"])
        name = f"__{language}__" if kind == "m2m" else language
        assert ids[0] == program.tokenizer.convert_tokens_to_ids(name)
    assert len(bundle.tokenizer.languages) == {"m2m": 100, "nllb": 3, "mbart": 52}[kind]


def test_the_name_of_a_language_is_text(bundle: Bundle, kind: Kind) -> None:
    name = "__de__" if kind == "m2m" else LANGUAGES[kind][0]
    (ids,) = bundle.tokenizer.encode_source([f"{name} </s> Haus"])
    assert not set(ids) & {2, *bundle.tokenizer.vocabularies[0].marks.values()}


def test_ids_without_a_piece_are_allowed(bundle: Bundle) -> None:
    """Made-up words of M2M-100, spare embeddings of NLLB, and a mask that is in no list."""
    vocabulary = bundle.tokenizer.vocabularies[0]
    assert len(vocabulary) == bundle.model.config.target_vocab
    assert vocabulary.pieces([len(vocabulary) - 1]) == [f"<no piece {len(vocabulary) - 1}>"]


# The files


def test_the_languages_of_nllb_come_from_any_of_three_files(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "nllb")
    wanted = huggingface.read(folder).tokenizer.vocabularies[0].marks
    table = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").unlink()

    assert huggingface.read(folder).tokenizer.vocabularies[0].marks == wanted

    (folder / "special_tokens_map.json").unlink()
    with pytest.raises(ModelError, match="no file lists the languages"):
        huggingface.read(folder)
    decoder = {str(token["id"]): {"content": token["content"]} for token in table["added_tokens"]}
    edit(folder / "tokenizer_config.json", added_tokens_decoder=decoder)
    assert huggingface.read(folder).tokenizer.vocabularies[0].marks == wanted


def test_an_added_language_has_the_id_of_its_file(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "nllb")
    (folder / "tokenizer.json").unlink()
    edit(folder / "special_tokens_map.json", additional_special_tokens=[*LANGUAGES["nllb"], "tyv_Cyrl"])
    (folder / "added_tokens.json").write_text('{"tyv_Cyrl": 226}', encoding="utf-8")

    assert huggingface.read(folder).tokenizer.vocabularies[0].marks["tyv_Cyrl"] == 226


def test_the_languages_of_wmt21_are_others(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "m2m")
    edit(folder / "tokenizer_config.json", language_codes="wmt21")

    assert huggingface.read(folder).tokenizer.languages == ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")


def test_a_language_that_was_added_is_said_to_be_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = models.save(tmp_path, "m2m")
    edit(folder / "tokenizer_config.json", extra_special_tokens=["__de__", "__xx__"])

    huggingface.read(folder)

    assert "read as text: __xx__" in caplog.text


def test_the_first_files_have_half_precision_and_positions(copy: Path, kind: Kind) -> None:
    """As those on the hub: copies of the embeddings, and of the sinusoids of M2M-100."""
    tensors = load_file(copy / "model.safetensors")
    for name in ("encoder.embed_tokens", "decoder.embed_tokens"):
        tensors[f"model.{name}.weight"] = tensors["model.shared.weight"].clone()
    tensors["lm_head.weight"] = tensors["model.shared.weight"].clone()
    if kind != "mbart":
        tensors["model.encoder.embed_positions.weights"] = torch.zeros(66, 32)
        tensors["model.decoder.embed_positions.weights"] = torch.zeros(66, 32)
    (copy / "model.safetensors").unlink()
    torch.save({name: tensor.half() for name, tensor in tensors.items()}, copy / "pytorch_model.bin")

    halved, whole = huggingface.read(copy), huggingface.read(copy)

    assert halved.model.config == whole.model.config
    own = dict(halved.model.named_parameters())["target_embedding.weight"]
    assert torch.equal(own, tensors["model.shared.weight"].half().float())


def test_settings_that_config_json_leaves_out(copy: Path, kind: Kind) -> None:
    whole = huggingface.read(copy).model.config
    left_out = dict.fromkeys(("pad_token_id", "eos_token_id", "decoder_start_token_id"))
    if kind != "mbart":
        left_out |= dict.fromkeys(("activation_function", "scale_embedding", "attention_dropout"))
    edit(copy / "config.json", **left_out)
    edit(copy / "generation_config.json", **dict.fromkeys(left_out))

    assert huggingface.read(copy).model.config == whole


def test_early_settings_of_mbart_say_nothing_new(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "mbart")
    edit(
        folder / "config.json",
        normalize_before=True,
        normalize_embedding=True,
        add_final_layer_norm=True,
        static_position_embeddings=False,
    )
    huggingface.read(folder)


@pytest.mark.parametrize("rows", [16, 700])
def test_a_shorter_table_of_positions_is_continued(rows: int, tmp_path: Path) -> None:
    folder = models.save(tmp_path, "mbart", max_position_embeddings=rows)
    table = load_file(folder / "model.safetensors")["model.encoder.embed_positions.weight"]

    own: Any = huggingface.read(folder).model

    assert torch.equal(own.positions.table.weight[:rows], table[2:])
    assert torch.equal(own.positions.table.weight[-1], table[-1])


# Refusals


@pytest.mark.parametrize(
    ("model_type", "message"),
    [("t5", "attention without a scale"), ("nllb-moe", "mixtures of experts"), ("umt5", "this reads Marian")],
)
def test_models_that_do_not_fit_are_refused_before_their_files_are_read(
    model_type: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))

    with pytest.raises(ModelError, match=message):
        huggingface.read(tmp_path)


def test_the_model_of_sentencepiece_is_needed(copy: Path) -> None:
    (copy / "sentencepiece.bpe.model").unlink()

    with pytest.raises(ModelError, match=r"sentencepiece\.bpe\.model: missing") as error:
        huggingface.read(copy)
    assert "copy it from the original model" in error.value.hint


def test_a_damaged_model_of_sentencepiece(copy: Path) -> None:
    (copy / "sentencepiece.bpe.model").write_bytes(b"no model")

    with pytest.raises(ModelError, match="not a SentencePiece model"):
        huggingface.read(copy)


@pytest.mark.parametrize(
    ("wrong", "changes", "message"),
    [
        ("nllb", {"legacy_behaviour": True}, "legacy_behaviour"),
        ("mbart", {"tokenizer_class": "MBartTokenizer"}, "tokenizer_class 'MBartTokenizer'"),
        ("m2m", {"tokenizer_class": "Other"}, "tokenizer_class 'Other'"),
        ("m2m", {"language_codes": "others"}, "no file lists the languages"),
        ("m2m", {"language_codes": 3}, "language_codes = 3"),
    ],
)
def test_tokenizers_that_do_not_fit(
    wrong: Kind, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = models.save(tmp_path, wrong)
    edit(folder / "tokenizer_config.json", **changes)

    with pytest.raises(ModelError, match=message):
        huggingface.read(folder)


def test_a_decoder_that_starts_with_a_language_is_refused(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "mbart")
    edit(folder / "generation_config.json", decoder_start_token_id=224)

    with pytest.raises(ModelError, match="starts with the token 224"):
        huggingface.read(folder)


def test_a_vocabulary_of_another_size(copy: Path) -> None:
    edit(copy / "config.json", vocab_size=150)

    with pytest.raises(ModelError, match="but the model has 150 embeddings"):
        huggingface.read(copy)


def test_positions_that_are_missing(tmp_path: Path) -> None:
    folder = models.save(tmp_path, "mbart")
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.decoder.embed_positions.weight"]
    save_file(tensors, folder / "model.safetensors")

    with pytest.raises(ModelError, match=r"missing: model\.decoder\.embed_positions\.weight"):
        huggingface.read(folder)


def test_it_cannot_be_written_as_marian(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(DragomanError, match=r"model\.positions"):
        huggingface.write(replace(bundle, generation=Beam()), tmp_path)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("vocab.json", {"▁": [3]}, "must be a whole number"),
        ("vocab.json", {"▁": 7}, "have the same id 7"),
        ("vocab.json", {"<unk>": None}, "the unk_token '<unk>' is not in it"),
        ("config.json", {"vocab_size": 10**9}, "a vocabulary of 1,000,000,000 tokens"),
        ("config.json", {"vocab_size": -3}, "embeddings"),
        ("config.json", {"vocab_size": "many"}, "vocab_size = 'many'"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9" * 5000: {"content": "de_DE"}, "x": 3}}, None),
    ],
    ids=str,
)
def test_damaged_tables(file: str, changes: dict[str, Any], message: str | None, tmp_path: Path) -> None:
    folder = models.save(tmp_path, "m2m")
    edit(folder / file, **changes)

    if message is None:
        huggingface.read(folder)
        return
    with pytest.raises(ModelError) as error:
        huggingface.read(folder)
    assert message in f"{error.value} {error.value.hint}"


def test_ctranslate2_takes_it(bundle: Bundle, tmp_path: Path) -> None:
    """Without the mark of a target language, which is passed there with each call."""
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    from dragoman.interop import ctranslate2
    from dragoman.interop.verify import lines_to_compare

    ctranslate2.write(bundle, tmp_path)

    assert "target_prefix" in " ".join(ctranslate2.notes(bundle))
    assert ctranslate2.verify(bundle, tmp_path, lines_to_compare(bundle)[:6]).worst < 1e-5
