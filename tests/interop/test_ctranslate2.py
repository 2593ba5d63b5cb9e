"""Exports to CTranslate2 give the same tokens, texts and probabilities there, and refuse what it cannot hold.

The reference is CTranslate2 itself, driven as its users drive it.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from tests.interop.memorised import PAIRS, SOURCES, memorised, random_bundle, tokenizer

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.interop import ctranslate2 as exporting
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig, SSRUConfig
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.translator import Translator

ctranslate2 = pytest.importorskip("ctranslate2")

SHARED = tokenizer()
SEPARATE = tokenizer(shared=False, vocab_size=80)
LENGTHS = [(1, 4), (3, 1), (8, 0), (21, 30), (40, 12)]  # tokens of source and target


def written(bundle: Bundle, folder: Path, **options: Any) -> exporting.Program:
    exporting.write(bundle, folder, **options)
    return exporting.Program(folder)


def random_pairs(bundle: Bundle, lengths: Sequence[tuple[int, int]] = LENGTHS) -> list[tuple[list[int], ...]]:
    config, dice = bundle.model.config, torch.Generator().manual_seed(1)
    sides = ((config.source_vocab, 0), (config.target_vocab, 1))
    return [
        tuple(torch.randint(3, vocab, (pair[n],), generator=dice).tolist() for vocab, n in sides)
        for pair in lengths
    ]


def our_scores(bundle: Bundle, pairs: Sequence[tuple[Any, ...]]) -> list[tuple[float, ...]]:
    found = dict(PyTorchEngine(bundle.model).score(pairs, replace(bundle.generation, renormalize=True)))
    return [found[number].token_logp for number in range(len(pairs))]


def our_search(bundle: Bundle, sources: Sequence[Any], limit: int, **how: Any) -> list[list[int]]:
    beam = replace(bundle.generation, **how)
    requests = [Request(source=source, how=beam, max_tokens=limit) for source in sources]
    found = dict(PyTorchEngine(bundle.model).search(requests))
    return [list(found[number][0].tokens) for number in range(len(sources))]


def worst(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    return max(
        abs(a - b) for own, other in zip(ours, theirs, strict=True) for a, b in zip(own, other, strict=True)
    )


# ---- every shape -----------------------------------------------------------------------------------

SHAPES: dict[str, dict[str, Any]] = {
    "post-norm, tied": {},
    "pre-norm": {"norm": "pre"},
    "pre-norm without the last": {"norm": "pre", "final_norm": False},
    "norm of embeddings": {"embedding_norm": True, "norm": "pre", "positions": "learned-apart"},
    "epsilon": {"norm_epsilon": 0.1},
    "gelu": {"activation": "gelu"},
    "quick-gelu": {"activation": "quick-gelu"},
    "swish": {"activation": "swish"},
    "swiglu": {"activation": "swiglu"},
    "biases": {"attention_bias": True, "output_bias": True},
    "unscaled": {"embedding_scale": False},
    "deep encoder": {"encoder_layers": 3, "decoder_layers": 1, "heads": 4},
    "rms, post-norm": {"norm_kind": "rms", "norm_epsilon": 0.1},
    "rms, grouped": {"norm_kind": "rms", "norm": "pre", "kv_heads": 2, "heads": 4, "positions": "rotary"},
    "multi-query": {"kv_heads": 1, "heads": 4, "attention_bias": True, "positions": "relative"},
    **{
        f"positions {kind}": {"positions": kind}
        for kind in (
            *("sinusoidal-halves", "sinusoidal-t2t", "learned", "none"),
            *("relative", "t5", "rotary"),
        )
    },
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same_probabilities_and_greedy_tokens(
    shape: dict[str, Any], tmp_path: Path
) -> None:
    bundle = random_bundle(SHARED, **shape)
    program = written(bundle, tmp_path)
    pairs = random_pairs(bundle)
    assert worst(our_scores(bundle, pairs), program.token_scores(pairs)) < 1e-5
    sources = [source for source, _ in pairs]
    assert our_search(bundle, sources, 25, size=1) == program.translate(sources, [25] * len(sources))


@pytest.mark.parametrize("tie", ["decoder", "none"])
def test_two_vocabularies(tie: str, tmp_path: Path) -> None:
    bundle = random_bundle(SEPARATE, tie=tie)
    program = written(bundle, tmp_path)
    assert {"source_vocabulary.json", "source.spm", "target.spm"} <= {p.name for p in tmp_path.iterdir()}
    pairs = random_pairs(bundle)
    assert worst(our_scores(bundle, pairs), program.token_scores(pairs)) < 1e-5


@pytest.mark.parametrize("positions", ["learned", "t5", "relative", "rotary"])
def test_long_sentences(positions: str, tmp_path: Path) -> None:
    """Past the last learned vector, the farthest bucket and the farthest distance."""
    bundle = random_bundle(SHARED, positions=positions)
    pairs = random_pairs(bundle, [(1100 if positions == "learned" else 300, 200)])
    assert worst(our_scores(bundle, pairs), written(bundle, tmp_path).token_scores(pairs)) < 1e-5


def test_a_sentence_beyond_the_table_of_positions_is_an_error_there(tmp_path: Path) -> None:
    program = written(random_bundle(SHARED), tmp_path)
    for long in (lambda: program.translate([[5] * 2100], [5]), lambda: program.score([([5] * 2100, [5])])):
        with pytest.raises(RuntimeError, match="position encodings are defined"):
            long()


# ---- a trained model -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> Bundle:
    return memorised(random_bundle(SHARED, d_model=32, encoder_layers=1, dropout=0.0))


@pytest.fixture(scope="module")
def folder(trained: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "model"
    exporting.write(trained, path)
    return path


def test_the_docs_way_of_using_a_folder_gives_our_translations(trained: Bundle, folder: Path) -> None:
    """SentencePiece and CTranslate2 alone, nothing suppressed: the tokens are passed without the end."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    answers = translator.translate_batch(
        pieces.encode(SOURCES, out_type=str), beam_size=4, length_penalty=0.6
    )
    texts = [pieces.decode(answer.hypotheses[0]) for answer in answers]
    ours = Translator.of(trained).translate(
        SOURCES, beam=4, normalization="power", length_penalty=0.6, split=False
    )
    assert texts == [each.text for each in ours]
    assert sum(text == target for text, (_, target) in zip(texts, PAIRS, strict=True)) >= len(PAIRS) - 3


def test_beam_search_finds_the_same(trained: Bundle, folder: Path) -> None:
    sources = trained.tokenizer.encode_source([*SOURCES, "The old bird", "Who built the train?", "moon moon"])
    limit = 40
    theirs = exporting.Program(folder).search(sources, [limit] * len(sources), beam=4, length_penalty=0.6)
    ours = our_search(trained, sources, limit, size=4, length_penalty=0.6, normalization="power")
    # At the limit we score the end too and CTranslate2 does not.
    ended = [n for n in range(len(sources)) if max(len(ours[n]), len(theirs[n])) < limit]
    assert len(ended) >= len(PAIRS)
    assert [theirs[n] for n in ended] == [ours[n] for n in ended]


def test_verify_says_what_agrees(trained: Bundle, folder: Path) -> None:
    comparison = exporting.verify(trained, folder, [*SOURCES, "", "  spaces  ", "ünknown ☃☃ wörds"])
    assert comparison.lines == len(SOURCES) + 3
    assert comparison.worst < 1e-5
    assert comparison.program.startswith("CTranslate2 ")


def test_verify_notices_another_model(trained: Bundle, tmp_path: Path) -> None:
    other = random_bundle(SHARED, seed=3, d_model=32, encoder_layers=1)
    exporting.write(other, tmp_path)
    with pytest.raises(DragomanError, match="disagrees on"):
        exporting.verify(trained, tmp_path, SOURCES)


def test_verify_names_a_folder_that_does_not_load(trained: Bundle, folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[: 2000 if path.suffix == ".bin" else None])
    with pytest.raises(DragomanError, match="cannot load it"):
        exporting.verify(trained, tmp_path, SOURCES)


def test_notes_say_which_options_of_the_search_are_lost(trained: Bundle) -> None:
    (note,) = exporting.notes(
        replace(trained, generation=Beam(size=5, length_penalty=1, normalization="power"))
    )
    assert "beam_size=5 and length_penalty=1" in note
    _, formula, stop = exporting.notes(replace(trained, generation=Beam(stop="patient")))
    assert "no gnmt length penalty. 0.6 becomes a power of 0.5" in formula
    assert '"patient"' in stop


# ---- quantised weights -----------------------------------------------------------------------------


@pytest.mark.parametrize("quantization", exporting.QUANTIZATIONS)
def test_every_type_of_weights_loads_and_stays_close(
    quantization: str, trained: Bundle, tmp_path: Path
) -> None:
    before = [weight.clone() for weight in trained.model.parameters()]
    program = written(trained, tmp_path, quantization=quantization)
    assert program.weights == quantization
    assert program.compute_type in ctranslate2.get_supported_compute_types("cpu")
    assert all(torch.equal(a, b) for a, b in zip(before, trained.model.parameters(), strict=True))
    cutter = trained.tokenizer
    pairs = [
        (cutter.encode_source([source])[0], cutter.encode_target([target])[0]) for source, target in PAIRS
    ]
    ours, theirs = our_scores(trained, pairs), program.token_scores(pairs)
    if quantization.startswith("int8"):
        # Without VNNI, CTranslate2's sums of 8-bit products saturate, and a few tokens are far off.
        difference = [abs(a - b) for a, b in zip(chain(*ours), chain(*theirs), strict=True)]
        assert statistics.mean(difference) < 0.5
        assert statistics.median(difference) < 0.1
    else:
        assert worst(ours, theirs) < (1e-5 if quantization == "float32" else 0.5)


def test_smaller_types_make_smaller_files(trained: Bundle, tmp_path: Path) -> None:
    sizes = {}
    for quantization in ("float32", "float16", "int8"):
        exporting.write(trained, tmp_path / quantization, quantization=quantization)
        sizes[quantization] = (tmp_path / quantization / "model.bin").stat().st_size
    assert sizes["float16"] < 0.55 * sizes["float32"]
    assert sizes["int8"] < sizes["float32"]


def test_verify_compares_quantised_models_in_float32_too(trained: Bundle, tmp_path: Path) -> None:
    exporting.write(trained, tmp_path, quantization="int8")
    comparison = exporting.verify(trained, tmp_path, SOURCES)
    assert "with int8 weights" in str(comparison)
    assert comparison.worst < 1e-5


def test_an_unknown_type_of_weights_is_refused(trained: Bundle, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='quantization = "int4"') as caught:
        exporting.write(trained, tmp_path / "model", quantization="int4")
    assert "int8_float16" in caught.value.hint
    assert not (tmp_path / "model").exists()


# ---- quirks that people complain of ----------------------------------------------------------------


def test_padding_and_start_are_never_generated(tmp_path: Path) -> None:
    """CTranslate2#832: translations that end in padding or gibberish, because padding was the likeliest."""
    bundle = random_bundle(SHARED, output_bias=True, beam=Beam(banned=(7,)))
    with torch.no_grad():
        bundle.model.logits.bias[[0, 1, 7]] = 50.0  # padding, start and a banned token
    program = written(bundle, tmp_path)
    sources = [source for source, _ in random_pairs(bundle)]
    theirs = program.translate(sources, [20] * len(sources))
    assert not {0, 1, 7} & {token for target in theirs for token in target}
    assert theirs == our_search(bundle, sources, 20, size=1)


def test_a_decoder_that_starts_from_padding(tmp_path: Path) -> None:
    """Marian's models start from a zero embedding: padding is the start, and its vector is zero."""
    cutter = SHARED
    bundle = random_bundle(cutter, start_id=0, positions="sinusoidal-t2t", norm_epsilon=1e-6)
    with torch.no_grad():
        bundle.model.target_embedding.weight[0] = 0.0
    program = written(bundle, tmp_path)
    pairs = random_pairs(bundle)
    assert json.loads((tmp_path / "config.json").read_text())["decoder_start_token"] == "<pad>"
    assert worst(our_scores(bundle, pairs), program.token_scores(pairs)) < 1e-5


def test_the_encoder_reads_the_end_token(trained: Bundle, folder: Path) -> None:
    """CTranslate2#1236: repeated words, because nothing added the end to the source."""
    config = json.loads((folder / "config.json").read_text())
    assert config["add_source_eos"]
    assert config["eos_token"] == "</s>"
    without = ctranslate2.Translator(
        str(folder), intra_threads=1, files={p.name: p.read_bytes() for p in folder.iterdir()} | {
            "config.json": json.dumps(config | {"add_source_eos": False}).encode()
        },
    )  # fmt: skip
    cutter = trained.tokenizer
    pair = cutter.encode_source(SOURCES[:1])[0], cutter.encode_target([PAIRS[0][1]])[0]
    source, target = cutter.source_pieces(pair[0]), cutter.target_pieces(pair[1])
    (wrong,) = without.score_batch([source], [target])
    (right,) = without.score_batch([[*source, "</s>"]], [target])
    ours = our_scores(trained, [pair])
    assert worst(ours, [right.log_probs]) < 1e-5
    assert worst(ours, [wrong.log_probs]) > 1e-3


def test_an_empty_line_has_an_empty_translation(trained: Bundle, folder: Path) -> None:
    program = exporting.Program(folder)
    assert program.encode(["", "  "]) == [[], []]
    assert program.translate([[], [5], []], [9, 9, 9])[::2] == [[], []]
    assert program.score([([], [])]) == [0.0]


# ---- tokenizers ------------------------------------------------------------------------------------

LINES = ["The Moon is pale.", "  Two   birds ", "", "Größe ☃☃ 漢字 <s> </s>", "a_b ▁ c", "YES!"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": "unigram", "vocab_size": 90},
        {"byte_fallback": True, "vocab_size": 400},
        {"kind": "characters"},
        {"kind": "words"},
        {"kind": "words", "shared": False},
        {"lowercase": True},
        {"lowercase": "source", "shared": False, "vocab_size": 80},
    ],
    ids=str,
)
def test_text_becomes_the_same_tokens_and_back(options: dict[str, Any], tmp_path: Path) -> None:
    cutter = tokenizer(**options)
    bundle = random_bundle(cutter, tie="all" if cutter.config.shared else "none")
    program = written(bundle, tmp_path)
    assert program.encode(LINES) == cutter.encode_source([line.strip() for line in LINES])
    targets = cutter.encode_target([*LINES, *(target for _, target in PAIRS)])
    assert program.decode(targets) == [cutter.decode(ids) for ids in targets]
    assert exporting.verify(bundle, tmp_path, [*LINES, *SOURCES]).worst < 1e-5


def test_the_tokenizer_of_an_imported_model(tmp_path: Path) -> None:
    """Pieces of SentencePiece numbered by another list, with target languages and normalised punctuation."""
    specials = Specials(pad=0, start=0, end=1, unknown=2)
    model = SHARED.vocabularies[0].to_files()[".spm"]
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [processor.id_to_piece(i) for i in range(4, len(processor))]
    pieces = ["<pad>", "</s>", "<unk>", ">>deu<<", *reversed(pieces[10:])]  # some are missing
    config = TokenizerConfig(kind="mapped", punctuation="en")
    side = Mapped(model, pieces, specials)
    cutter = Tokenizer(config, side, side, specials=specials)
    bundle = random_bundle(
        cutter, beam=Beam(renormalize=True), pad_id=0, start_id=0, end_id=1, positions="sinusoidal-t2t"
    )
    program = written(bundle, tmp_path)
    lines = [">>deu<< The moon is “pale” …", ">>fra<< Yes!", "☃ moon", *SOURCES]
    assert program.encode(lines) == cutter.encode_source(lines)
    assert program.encode(lines)[0][0] == 3
    assert program.decode([[5, 6]]) == [cutter.decode([5, 6])]
    assert exporting.verify(bundle, tmp_path, lines).worst < 1e-5


# ---- what it cannot hold ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"positions": "alibi"}, "ALiBi"),
        ({"positions": "index"}, "index positions"),
        ({"positions": "fraction"}, "fraction positions"),
        ({"window": 4}, "window"),
    ],
)
def test_what_it_cannot_hold_is_refused(shape: dict[str, Any], reason: str, tmp_path: Path) -> None:
    bundle = random_bundle(SHARED, **shape)
    assert [reason in each for each in exporting.unsupported(bundle)] == [True]
    with pytest.raises(ConfigError, match=reason):
        exporting.write(bundle, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_all_reasons_are_given_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="window.*ALiBi"):
        exporting.write(random_bundle(SHARED, window=4, positions="alibi"), tmp_path / "model")


@pytest.mark.parametrize("kind", [RecurrentConfig, ConvolutionalConfig, SSRUConfig])
def test_other_architectures_are_refused(kind: Any, tmp_path: Path) -> None:
    config = kind(source_vocab=SHARED.source_size, target_vocab=SHARED.target_size, d_model=8)
    bundle = replace(random_bundle(SHARED), model=build_model(config))
    with pytest.raises(ConfigError, match=f"the {config.architecture} architecture"):
        exporting.write(bundle, tmp_path / "model")


def test_special_tokens_of_two_spellings_are_refused() -> None:
    specials = Specials(pad=0, start=0, end=1, unknown=2)
    model = SHARED.vocabularies[0].to_files()[".spm"]
    sides = [Mapped(model, ["<pad>", end, "<unk>", "a"], specials) for end in ("</s>", "<eos>")]
    cutter = Tokenizer(TokenizerConfig(kind="mapped", shared=False), *sides, specials=specials)
    bundle = random_bundle(cutter, tie="none", pad_id=0, start_id=0, end_id=1)
    assert exporting.unsupported(bundle) == ["two spellings of the end token: '</s>' and '<eos>'"]


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ctranslate2", "ctranslate2.specs"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DragomanError, match="not installed") as caught:
        exporting.write(random_bundle(SHARED), tmp_path / "model")
    assert caught.value.hint == "pip install 'dragoman[ctranslate2]'"
    assert not (tmp_path / "model").exists()
