"""Marian's own models come in and go out: against its formulas in float64, and against the program itself."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from tests.interop import marian_models as models
from tests.interop.firefox_models import firefox
from tests.interop.marian_models import LINES, PRE, SSRU, UNTIED
from tests.interop.marian_reference import Marian

from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.interop import marian
from dragoman.interop.marian import files
from dragoman.interop.verify import verify
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

TOP = {"transformer-postprocess-top": "n"}
CASES: dict[str, dict[str, Any]] = {
    "tied": {},
    "swish": {"transformer-ffn-activation": "swish"},
    "gelu": {"transformer-ffn-activation": "gelu"},
    "tied decoder": UNTIED | {"tied-embeddings": True},
    "untied": UNTIED,
    "shared embeddings": UNTIED | {"tied-embeddings-src": True},
    "pre-norm": PRE | {"transformer-ffn-activation": "swish"},
    "pre-norm, normed on top": PRE | TOP,
    "no output bias": {"output-omit-bias": True},
    "no projection": {"transformer-no-projection": True},
    "tied layers": {"transformer-tied-layers": [2, 2]},
    "ssru": SSRU,
    "ssru, pre-norm": SSRU | PRE | TOP,
}


def pymarian() -> None:
    pytest.importorskip("_pymarian", reason="pymarian, the reference, is not installed")


def token_logps(bundle: Bundle, source: list[int], target: list[int]) -> list[float]:
    scored = dict(PyTorchEngine(bundle.model).score([(source, target)], bundle.generation))
    return list(scored[0].token_logp)


def weights_of(bundle: Bundle) -> dict[str, torch.Tensor]:
    return dict(bundle.model.named_parameters())


def expect_same(one: Bundle, other: Bundle) -> None:
    ours, theirs = weights_of(one), weights_of(other)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert one.model.config == other.model.config
    assert one.generation == other.generation
    assert one.tokenizer.config == other.tokenizer.config
    assert one.tokenizer.specials == other.tokenizer.specials
    for mine, its in zip(one.tokenizer.vocabularies, other.tokenizer.vocabularies, strict=True):
        assert mine.to_files() == its.to_files()


# In: what is computed


@pytest.mark.parametrize("case", CASES)
def test_an_imported_model_computes_what_marian_computes(case: str, tmp_path: Path) -> None:
    weights, options = models.write(tmp_path, CASES[case])
    reference, bundle = Marian(weights, options), marian.read(tmp_path)

    rng = np.random.default_rng(3)
    for line in LINES:
        source = bundle.tokenizer.encode_source([line])[0]
        target = rng.integers(2, len(weights.get("Wemb", weights.get("decoder_Wemb"))), 7).tolist()
        logp_TV = reference.log_probabilities([*source, 0], target)
        expected = [logp_TV[place, token] for place, token in enumerate([*target, 0])]
        np.testing.assert_allclose(token_logps(bundle, source, target), expected, rtol=1e-5, atol=1e-5)


def test_without_positions_nothing_is_scaled(tmp_path: Path) -> None:
    models.write(tmp_path, {"transformer-disable-position-embeddings": True})
    config = marian.read(tmp_path).model.config

    assert isinstance(config, TransformerConfig)
    assert (config.positions, config.embedding_scale) == ("none", False)


@pytest.mark.parametrize(
    ("version", "activation"), [("v1.12.42 b7be 2025", "gelu"), ("v1.12.0", "quick-gelu"), ("", "gelu")]
)
def test_gelu_is_approximate_in_old_models(version: str, activation: str, tmp_path: Path) -> None:
    models.write(tmp_path, {"transformer-ffn-activation": "gelu", "version": version})

    assert marian.read(tmp_path).model.config.activation == activation  # type: ignore[union-attr]


def test_the_start_is_a_zero_embedding_without_probability(tmp_path: Path) -> None:
    models.write(tmp_path)
    bundle = marian.read(tmp_path)
    config, start = bundle.model.config, bundle.tokenizer.start_id

    assert (config.start_id, config.pad_id, config.end_id) == (start, start, 0)
    assert start == config.target_vocab - 1
    assert not bundle.model.target_embedding.weight[start].any()
    with torch.no_grad():
        logits_BTV = bundle.model.decode(
            torch.tensor([[start, 5]]), bundle.model.encode(torch.tensor([[4, 0]]), torch.tensor([2]))
        )
    assert float(logits_BTV.softmax(-1)[..., start].max()) == 0.0


def test_the_search_is_that_of_decoder_yml(tmp_path: Path) -> None:
    models.write(tmp_path)

    assert marian.read(tmp_path).generation == Beam(
        size=3, length_penalty=0.6, normalization="power", stop="shrinking", banned=(1,)
    )


def test_unknown_tokens_are_generated_only_if_decoder_yml_allows_it(tmp_path: Path) -> None:
    models.write(tmp_path, decoder=models.DECODER | {"allow-unk": True})

    assert marian.read(tmp_path).generation.banned == ()


def test_two_vocabularies_of_any_size_come_in(tmp_path: Path) -> None:
    for sizes in ((60, 70), (70, 60), (60, 60)):
        folder = tmp_path / f"{sizes[0]}-{sizes[1]}"
        pair = [models.vocabulary("en", sizes[0]), models.vocabulary("de", sizes[1])]
        weights, options = models.write(folder, UNTIED, vocabularies=pair)
        bundle = marian.read(folder)
        source = bundle.tokenizer.encode_source([LINES[0]])[0]
        expected = Marian(weights, options).log_probabilities([*source, 0], [5, 9])[[0, 1, 2], [5, 9, 0]]
        np.testing.assert_allclose(token_logps(bundle, source, [5, 9]), expected, atol=1e-5)
        again = tmp_path / "again" / folder.name
        marian.write(bundle, again)
        expect_same(marian.read(again), bundle)


def test_a_folder_of_opus_mt_comes_in(tmp_path: Path) -> None:
    pair = [models.vocabulary("en"), models.vocabulary("de")]
    pieces = list(
        dict.fromkeys(["</s>", "<unk>", "yes", "no", *_pieces(pair[0]), *_pieces(pair[1]), ">>deu<<"])
    )
    options = models.OPTIONS | {"dim-vocabs": [len(pieces)] * 2}
    models.save(tmp_path, models.weights(options, (len(pieces),) * 2), options)
    (tmp_path / "opus.vocab.yml").write_text(
        "".join(f"{json.dumps(piece)}: {i}\n" for i, piece in enumerate(pieces)), "utf-8"
    )
    for name, model in zip(("source.spm", "target.spm"), pair, strict=True):
        (tmp_path / name).write_bytes(model)
    (tmp_path / "decoder.yml").write_text("models: [model.npz]\nvocabs: [opus.vocab.yml, opus.vocab.yml]\n")
    (tmp_path / "preprocess.sh").write_text("touch executed\nnormalize-punctuation.perl -l en |\n")
    (tmp_path / "README.md").write_text("* source language(s): eng\n* target language(s): deu\n")
    bundle = marian.read(tmp_path)

    ids = bundle.tokenizer.encode_source([">>deu<< Why “this” bike?"])[0]
    assert ids[0] == pieces.index(">>deu<<")
    assert bundle.tokenizer.languages == ("deu",)
    assert bundle.tokenizer.config.punctuation == "en"
    assert bundle.tokenizer.source_pieces(ids) == bundle.tokenizer.source_pieces(
        bundle.tokenizer.encode_source(['>>deu<< Why "this" bike?'])[0]
    )
    assert (bundle.source_language, bundle.target_language) == ("eng", "deu")
    assert bundle.generation.banned == (1,)

    marian.write(bundle, tmp_path / "again")
    expect_same(marian.read(tmp_path / "again"), bundle)


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("en-de", ("en", "de")),
        ("eng-deu.2021", ("eng", "deu")),
        ("opus-mt-en-de", ("en", "de")),
        ("opus-mt-tc-big-fr-it", ("fr", "it")),
        ("opus-mt-de-hsb", ("de", "hsb")),
        ("en-de-big", ("en", "de")),
        ("en-de-ema", ("en", "de")),
        ("opus-mt-mt-en", ("mt", "en")),
        ("opus-mt-tc-bible-big-en-de", ("en", "de")),
        ("transformer", ("und", "und")),
    ],
)
def test_the_name_of_a_folder_names_the_languages(
    name: str, languages: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()
    assert files.stated_languages(tmp_path / name) == languages


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_an_end_of_line_separates_the_pieces_of_a_text(end: str, tmp_path: Path) -> None:
    pieces = ["</s>", "<unk>", "a", "\u2028", "\x85", "b\x0b", "\x1c", "c"]
    (tmp_path / "vocab.txt").write_bytes("".join(piece + end for piece in pieces).encode())
    assert files.read_pieces(tmp_path / "vocab.txt") == pieces


def _pieces(model: bytes) -> list[str]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(2, len(processor))]


def test_a_saved_import_is_the_same(tmp_path: Path) -> None:
    models.write(tmp_path / "marian", SSRU)
    bundle = marian.read(tmp_path / "marian")
    save(bundle, tmp_path / "ours")

    expect_same(load(tmp_path / "ours"), bundle)


# Against Marian itself; models that it trained are in test_fixtures.py


@pytest.mark.parametrize("case", [pytest.param("tied decoder", marks=pytest.mark.slow), "ssru"])
def test_marian_itself_translates_alike(case: str, tmp_path: Path) -> None:
    pymarian()
    models.write(tmp_path, CASES[case])
    bundle, program = marian.read(tmp_path), marian.Program(tmp_path)

    comparison = verify(bundle, program, [*LINES, ""])
    assert comparison.translated
    assert comparison.worst < 1e-5

    sources = bundle.tokenizer.encode_source(LINES)
    theirs = program.n_best(sources, size=4, normalize=0.6)
    how = replace(bundle.generation, size=4, n_best=4)
    requests = [Request(source=source, how=how, max_tokens=3 * len(source) + 3) for source in sources]
    ours = dict(PyTorchEngine(bundle.model).search(requests))
    compared = 0
    for number, its in enumerate(theirs):
        if all(len(logps) == len(ids) + 1 for ids, logps, _ in its):  # none was cut
            assert [list(each.tokens) for each in ours[number]] == [ids for ids, _, _ in its]
            assert [each.score for each in ours[number]] == pytest.approx([it[2] for it in its], abs=1e-4)
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("compare", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_marian_itself_reads_a_binary_file(compare: bool, tmp_path: Path) -> None:
    pymarian()
    firefox(tmp_path, int8=False)
    bundle, program = marian.read(tmp_path), marian.Program(tmp_path)
    assert program.encode(LINES) == bundle.tokenizer.encode_source(LINES)
    assert not compare or verify(bundle, program, LINES).translated


@pytest.mark.slow
def test_scores_alone_are_compared_where_marian_mistranslates(tmp_path: Path) -> None:
    pymarian()
    models.write(tmp_path, CASES["pre-norm, normed on top"])
    program = marian.Program(tmp_path)
    comparison = verify(marian.read(tmp_path), program, LINES)

    assert not comparison.translated
    assert "scores of 5 translations" in str(comparison)
    assert comparison.worst < 1e-5


@pytest.mark.slow
def test_a_disagreement_is_an_error(tmp_path: Path) -> None:
    pymarian()
    models.write(tmp_path)
    bundle = marian.read(tmp_path)
    with torch.no_grad():
        bundle.model.target_embedding.weight[5] += 1

    with pytest.raises(DragomanError, match="Marian .* disagrees on the"):
        verify(bundle, marian.Program(tmp_path), LINES)


# Out


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("pre-norm")])
def test_out_and_in_again_is_bit_exact(case: str, tmp_path: Path) -> None:
    models.write(tmp_path / "marian", CASES[case])
    bundle = marian.read(tmp_path / "marian")
    marian.write(bundle, tmp_path / "again")

    expect_same(marian.read(tmp_path / "again"), bundle)


@lru_cache(maxsize=2)
def own_tokenizer(shared: bool) -> Tokenizer:
    text = [(source, source) for source in LINES * 2]
    return Tokenizer.train(text, TokenizerConfig(vocab_size=300, shared=shared))


def own(*, ssru: bool = False, shared: bool = True, zero_start: bool = False, **options: Any) -> Bundle:
    """A model of ours with random weights."""
    tokenizer = own_tokenizer(shared)
    kind = SSRUConfig if ssru else TransformerConfig
    fitting: dict[str, Any] = {"positions": "sinusoidal-t2t", "norm_epsilon": 1e-6}
    fitting |= {"d_model": 16, "d_ff": 24, "heads": 4, "encoder_layers": 1, "decoder_layers": 2}
    config = kind(
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        **{**fitting, **options},
    )
    torch.manual_seed(1)
    model = build_model(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2 if "embedding" not in name else 0.0)
        if zero_start:
            model.target_embedding.weight[config.start_id] = 0
    return Bundle(model=model, tokenizer=tokenizer, source_language="en", target_language="de")


# What Marian's older layers hold, and what only its newer ones do.
OLDER: dict[str, dict[str, Any]] = {
    "tied": {},
    "two vocabularies": {"shared": False, "tie": "decoder", "activation": "swish"},
    "untied, with biases": {"tie": "none", "attention_bias": True, "output_bias": True, "activation": "gelu"},
    "ssru": {"ssru": True, "zero_start": True},
}
PAPER = {"positions": "sinusoidal", "norm_epsilon": 1e-5}
NEWER: dict[str, dict[str, Any]] = {
    "the paper's": PAPER,
    "pre-norm": PAPER | {"norm": "pre", "activation": "swish"},
    "no final norm": PAPER | {"norm": "pre", "final_norm": False, "activation": "gelu"},
    "learned positions": PAPER | {"positions": "learned", "tie": "decoder", "shared": False, "d_model": 64},
    "halves, not scaled": PAPER | {"positions": "sinusoidal-halves", "embedding_scale": False, "tie": "none"},
    "ssru of the paper's": PAPER | {"ssru": True, "output_bias": True},
}
OUT = OLDER | NEWER


@pytest.mark.parametrize("case", OUT)
def test_a_model_of_ours_computes_the_same_in_marian(case: str, tmp_path: Path) -> None:
    bundle = own(**OUT[case])
    marian.write(bundle, tmp_path)
    again = marian.read(tmp_path)

    for line in LINES:
        ids = bundle.tokenizer.encode_source([line])[0]
        assert again.tokenizer.encode_source([line])[0] == ids
        target = bundle.tokenizer.encode_target([line])[0][:8]
        np.testing.assert_allclose(
            token_logps(again, ids, target), token_logps(bundle, ids, target), rtol=0, atol=2e-5
        )
    assert again.tokenizer.specials == bundle.tokenizer.specials


@pytest.mark.parametrize("case", ["ssru", *NEWER])
def test_a_model_of_ours_comes_back_bit_for_bit(case: str, tmp_path: Path) -> None:
    bundle = own(**OUT[case])
    marian.write(bundle, tmp_path)
    again = marian.read(tmp_path)

    assert all(torch.equal(weights_of(again)[name], weight) for name, weight in weights_of(bundle).items())
    assert (again.source_language, again.target_language) == ("en", "de")
    if case in NEWER:
        assert weights_of(again).keys() == weights_of(bundle).keys()
        assert again.model.config == bundle.model.config


def test_a_changed_export_is_refused(tmp_path: Path) -> None:
    marian.write(own(**PAPER), tmp_path)
    arrays = dict(np.load(tmp_path / "model.npz"))
    name = "TransformerBatchDecoder->decoder->positionEmbedding->embeddings"
    np.savez(tmp_path / "model.npz", **{**arrays, name: arrays[name] + 1})

    with pytest.raises(ModelError, match="written by dragoman, but changed since"):
        marian.read(tmp_path)


def test_a_tuned_import_keeps_its_start(tmp_path: Path) -> None:
    """Training changes the embedding of the start, for which Marian has no id."""
    for case in ("tied", "ssru", "pre-norm"):
        models.write(tmp_path / case, CASES[case])
        bundle = marian.read(tmp_path / case)
        with torch.no_grad():
            bundle.model.target_embedding.weight[bundle.model.config.start_id] = 0.3
        marian.write(bundle, tmp_path / case / "again")
        again = marian.read(tmp_path / case / "again")
        ids = bundle.tokenizer.encode_source([LINES[0]])[0]
        np.testing.assert_allclose(
            token_logps(again, ids, ids[:5]), token_logps(bundle, ids, ids[:5]), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize(
    "case", ["pre-norm", *(pytest.param(case, marks=pytest.mark.slow) for case in OUT if case != "pre-norm")]
)
def test_marian_translates_a_model_of_ours_alike(case: str, tmp_path: Path) -> None:
    pymarian()
    bundle = own(**OUT[case])
    marian.write(bundle, tmp_path)

    comparison = verify(bundle, marian.Program(tmp_path), LINES)
    assert comparison.translated
    assert comparison.worst < 1e-5


def test_changes_of_the_search_are_noted() -> None:
    assert marian.notes(own())[0].startswith("Marian has no gnmt length penalty. 0.6 becomes a power of 0.5,")
    assert "more than 1024 tokens" in marian.notes(own(**PAPER))[2]
    assert "Layer normalisation adds 1e-05 to the variance, not 1e-06." in marian.notes(own(norm="pre"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"positions": "rotary"}, 'model.positions = "rotary"'),
        ({"positions": "index"}, 'model.positions = "index"'),
        ({"activation": "swiglu"}, 'model.activation = "swiglu"'),
        ({"window": 4}, "model.window = 4"),
        ({"norm_kind": "rms"}, 'model.norm_kind = "rms"'),
        ({"kv_heads": 1}, "model.kv_heads = 1"),
        ({"embedding_norm": True}, "model.embedding_norm = true"),
        ({"positions": "learned-apart"}, "learned-apart"),
        ({"norm_epsilon": 1e-3}, "model.norm_epsilon = 0.001"),
        ({"positions": "none"}, 'model.positions = "none"'),
    ],
)
def test_what_marian_cannot_hold_is_refused_before_writing(
    options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=reason.replace("(", "\\(")):
        marian.write(own(**options), tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_lower_cased_side_is_lower_cased_by_its_sentencepiece_model(tmp_path: Path) -> None:
    config = TokenizerConfig(kind="bpe", vocab_size=90, byte_fallback=False, lowercase="source")
    tokenizer = Tokenizer.train([("The Dog SLEEPS.", "Der Hund schläft.")] * 9, config)
    size = tokenizer.source_size
    torch.manual_seed(1)
    shape = {"d_model": 16, "d_ff": 24, "heads": 4, "encoder_layers": 1, "decoder_layers": 1}
    model = build_model(TransformerConfig(source_vocab=size, target_vocab=size, **shape)).eval()
    bundle = Bundle(model=model, tokenizer=tokenizer, source_language="en", target_language="de")
    marian.write(bundle, tmp_path)

    cut = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "source.spm")).encode
    assert [cut("The DOG")] == tokenizer.encode_source(["The DOG"])
    assert (tmp_path / "target.spm").read_bytes() != (tmp_path / "source.spm").read_bytes()


def test_all_reasons_are_given_at_once() -> None:
    reasons = marian.unsupported(own(positions="rotary", activation="swiglu", window=3))

    assert len(reasons) == 3


def test_other_architectures_and_tokenizers_are_refused() -> None:
    bundle = own()
    words = Tokenizer.train([("a b", "c d")], TokenizerConfig(kind="words", vocab_size=8))
    recurrent = build_model(RecurrentConfig(source_vocab=9, target_vocab=9, d_model=4, layers=1))

    assert marian.unsupported(replace(bundle, model=recurrent)) == [
        'model.architecture = "recurrent" (supported: transformer, ssru)'
    ]
    assert marian.unsupported(replace(bundle, tokenizer=words)) == [
        'tokenizer.kind = "words": Marian splits text at spaces alone'
    ]
    banned = replace(bundle, generation=Beam(banned=(280,)))
    assert "generation.banned: [280]" in marian.unsupported(banned)[0]


def test_renormalised_bans_have_no_probability_in_marian(tmp_path: Path) -> None:
    bundle = replace(own(zero_start=True), generation=Beam(banned=(7,), renormalize=True))
    marian.write(bundle, tmp_path)
    bias = np.load(tmp_path / "model.npz")["decoder_ff_logit_out_b"][0]

    assert [i for i, value in enumerate(bias) if value == -1000] == [0, 1, 7]


# Bad input


def damaged(folder: Path, case: str) -> None:
    """A folder with one thing wrong."""
    arrays, options = models.write(folder)
    model, decoder = folder / "model.npz", folder / "decoder.yml"
    match case:
        case "truncated":
            model.write_bytes(model.read_bytes()[:4000])
        case "object array":
            code = np.array([Executed()], dtype=object)
            np.savez(model, Wemb=code, **{"special:model.yml": np.zeros(3, np.int8)})
        case "pickle":
            model.write_bytes(pickle.dumps(Executed()))
        case "bomb":
            with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("Wemb.npy", b"\0" * 10_000_000)
        case "no options":
            np.savez(model, **arrays)
        case "quantised":
            models.save(folder, arrays | {"encoder_l1_ffn_W1": np.ones((16, 24), np.int8)}, options)
        case "wrong shape":
            models.save(folder, arrays | {"encoder_l1_ffn_W1": np.ones((16, 23), np.float32)}, options)
        case "missing weight":
            models.save(folder, {k: v for k, v in arrays.items() if k != "decoder_l2_context_bq"}, options)
        case "NaN":
            models.save(folder, arrays | {"encoder_l1_ffn_b1": np.full((1, 24), np.nan, np.float32)}, options)
        case "unknown type":
            models.save(folder, arrays, options | {"type": "amun"})
        case "several refusals":
            other = {"transformer-decoder-autoreg": "average-attention", "transformer-postprocess": "dhn"}
            models.save(folder, arrays, options | other)
        case "projection":
            models.save(folder, arrays, options | SSRU | {"transformer-rnn-projection": True})
        case "no heads":
            models.save(folder, arrays, options | {"transformer-heads": 0})
        case "not a number":
            models.save(folder, arrays, options | {"dim-emb": "wide"})
        case "tagged YAML":
            decoder.write_text("models: !!python/object/apply:os.system ['touch executed']\n")
        case "aliases":
            decoder.write_text("a: &a [x, x]\nmodels: [*a, *a]\n")
        case "broken YAML":
            decoder.write_text("models: [\n")
        case "word penalty":
            decoder.write_text(decoder.read_text().replace("word-penalty: 0", "word-penalty: 0.5"))
        case "missing vocabulary":
            (folder / "vocab.spm").unlink()
        case "other vocabulary":
            (folder / "vocab.spm").write_bytes(models.vocabulary("de", 70))
        case "no SentencePiece":
            (folder / "vocab.spm").write_bytes(b"no")
        case "pieces alone":
            (folder / "vocab.spm").unlink()
            (folder / "vocab.yml").write_text('"</s>": 0\n"<unk>": 1\n')
            (folder / "source.bpe").write_text("a b\n")
            decoder.write_text("models: [model.npz]\nvocabs: [vocab.yml, vocab.yml]\n")
        case "names of Nematus":
            (folder / "vocab.yml").write_text("eos: 0\nUNK: 1\n")
            decoder.write_text("models: [model.npz]\nvocabs: [vocab.yml, vocab.yml]\n")
        case "ensemble":
            decoder.write_text("models: [model.npz, model2.npz]\nvocabs: [vocab.spm, vocab.spm]\n")
        case "binary":
            model.rename(folder / "model.bin")
            decoder.unlink()
        case "long name":
            decoder.write_text(f"models: [model.npz]\nvocabs: [{'x' * 300}]\n")
        case "bad beam":
            decoder.write_text(decoder.read_text().replace("beam-size: 3", "beam-size: 0"))


class Executed:
    """Unpickled, it makes a file."""

    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("truncated", "cannot be read as a numpy archive"),
        ("object array", "cannot be read as a numpy archive"),
        ("pickle", "cannot be read as a numpy archive"),
        ("bomb", "it would unpack to"),
        ("no options", r"no options inside \(special:model.yml\)"),
        ("quantised", r"quantised or packed weights \(encoder_l1_ffn_W1"),
        ("wrong shape", "encoder_l1_ffn_W1 has shape 16 x 23, the configuration needs 16 x 24"),
        ("missing weight", "missing: decoder_l2_context_bq 1 x 16"),
        ("NaN", "encoder_l1_ffn_b1 has numbers that are NaN"),
        ("unknown type", r"type: amun \(supported: transformer, transformer-new\)"),
        ("several refusals", r"transformer-postprocess: hn .*\n.*average-attention \(supported"),
        ("projection", "transformer-rnn-projection: true with dec-cell: ssru"),
        ("no heads", "heads"),
        ("not a number", "the option dim-emb is 'wide'"),
        ("tagged YAML", "decoder.yml: not YAML as Marian writes it .*a tag or an alias"),
        ("aliases", "a tag or an alias"),
        ("broken YAML", "decoder.yml: not YAML"),
        ("word penalty", "word-penalty: 0.5 in decoder.yml"),
        ("missing vocabulary", "vocab.spm: missing, but decoder.yml names it"),
        ("long name", "x: missing, but decoder.yml names it"),
        ("other vocabulary", "70 pieces, but the model has 60"),
        ("no SentencePiece", "vocab.spm: not a SentencePiece model"),
        ("pieces alone", r"subword-nmt \(source.bpe\) cuts the text"),
        ("names of Nematus", "vocab.yml: no </s>"),
        ("ensemble", "an ensemble of 2 models"),
        ("binary", "model.bin: not a binary model of Marian's"),
        ("bad beam", "decoder.yml: .*size"),
    ],
)
def test_bad_input_gives_one_clear_error(
    case: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    damaged(tmp_path / "model", case)

    with pytest.raises(ModelError, match=message) as raised:
        marian.read(tmp_path / "model")
    assert raised.value.hint
    assert not list(tmp_path.rglob("executed"))


@pytest.mark.parametrize("suffix", ["npz", "bin"])
def test_of_several_models_a_single_one_is_given_only_if_it_can_be(suffix: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.{suffix}").touch()
    with pytest.raises(ModelError, match="several models") as raised:
        files.find(tmp_path)
    assert ("give one of the files" in str(raised.value.hint)) == (suffix == "bin")


def test_marian_s_own_errors_are_shown(tmp_path: Path) -> None:
    pymarian()
    models.write(tmp_path, {"transformer-heads": 3})

    with pytest.raises(DragomanError, match="Marian .* fails on"):
        marian.Program(tmp_path).score([([5], [6])])


def test_renormalising_neither_silences_the_end_nor_bans_unknown_words(tmp_path: Path) -> None:
    bundle = own(zero_start=True)
    bundle = replace(bundle, generation=Beam(renormalize=True))
    bundle.model.config = replace(bundle.model.config, start_id=bundle.model.config.end_id)
    marian.write(bundle, tmp_path)
    bias = np.load(tmp_path / "model.npz")["decoder_ff_logit_out_b"][0]

    assert bias[bundle.model.config.end_id] != -1000
    assert "allow-unk: true" in (tmp_path / "decoder.yml").read_text()
