"""Models of Hugging Face's Marian come in and ours go out. The reference is transformers itself."""

from __future__ import annotations

import json
import math
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.interop import opus
from tests.text.sentences import DELICATE, PAIRS
from torch import Tensor

from dragoman import Translator
from dragoman.base.errors import ConfigError, ModelError
from dragoman.interop import huggingface
from dragoman.interop.imports import import_model
from dragoman.interop.verify import verify
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.models.search.beam import search
from dragoman.models.search.engine import PyTorchEngine, pad
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import Beam, Stop

pytest.importorskip("transformers", reason="transformers, the reference, is not installed")

# What `opus.save` writes, by name: the shapes that repositories of Marian models have.
SHAPES: dict[str, dict[str, Any]] = {
    "OPUS-MT": {},
    "multilingual": {"languages": opus.LANGUAGES, "activation_function": "silu"},
    "two vocabularies": {"separate": True, "activation_function": "relu"},
    "nothing tied": {
        "separate": True,
        "tie_word_embeddings": False,
        "activation_function": "gelu",
        "seed": 1,
    },
    "output apart": {"tie_word_embeddings": False, "activation_function": "quick_gelu"},
    "unscaled, with spare embeddings": {"scale_embedding": False, "extra": 3},
}
LINES = [" ".join(line.split()) for line in opus.SENTENCES["en"].split(". ")]
LIMIT = 24


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opus.save(tmp_path_factory.mktemp("model"), **SHAPES[request.param])


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return huggingface.read(folder)


@pytest.fixture(scope="module")
def program(folder: Path) -> huggingface.Program:
    return huggingface.Program(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OPUS-MT model. Tests that change it copy it."""
    return opus.save(tmp_path_factory.mktemp("plain"))


@pytest.fixture
def copy(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "copy"))


def random_sources(bundle: Bundle, count: int = 12) -> list[list[int]]:
    rng = random.Random(3)
    config = bundle.model.config
    words = sorted(
        set(range(3, min(config.source_vocab, config.target_vocab) - 3)) - bundle.tokenizer.specials.ids
    )
    return [rng.choices(words, k=rng.randint(1, 12)) for _ in range(count)]


def logits_of(bundle: Bundle, source: Sequence[int], target: Sequence[int]) -> Tensor:
    config = bundle.model.config
    inputs = pad([source], config.pad_id, config.end_id)
    with torch.no_grad():
        memory = bundle.model.encode(*inputs)
        logits_BTV: Tensor = bundle.model.decode(torch.tensor([[config.start_id, *target]]), memory)
    return logits_BTV[0]


def weights(bundle: Bundle) -> dict[str, Tensor]:
    return dict(bundle.model.named_parameters())


def same_weights(one: Bundle, other: Bundle) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def free_at_the_limit(prefix_NT: Tensor, logp_NV: Tensor, sentence_N: Tensor) -> Tensor:
    """At the limit the end costs nothing in transformers (forced_eos_token_id); here it pays its price."""
    if prefix_NT.shape[1] == LIMIT:
        logp_NV.fill_(-math.inf)
        logp_NV[:, 0] = 0.0
    return logp_NV


def found_by(bundle: Bundle, sources: Sequence[Sequence[int]], how: Beam) -> list[list[Hypothesis]]:
    config = bundle.model.config
    memory = bundle.model.encode(*pad(sources, config.pad_id, config.end_id))
    limit_B = torch.full((len(sources),), LIMIT)
    return search(bundle.model, memory, how, limit_B=limit_B, mask=free_at_the_limit)


# In: the same numbers as transformers


def test_logits_are_the_same(bundle: Bundle, program: huggingface.Program) -> None:
    sources = random_sources(bundle)
    pairs = list(zip(sources, reversed(sources), strict=True))
    for pair, its_TV in zip(pairs, program.logits(pairs), strict=True):
        torch.testing.assert_close(logits_of(bundle, *pair), its_TV, rtol=1e-6, atol=2e-5)


def test_logits_differ_by_rounding_alone(plain: Path) -> None:
    """In double precision they differ a million times less."""
    bundle, program = huggingface.read(plain), huggingface.Program(plain)
    bundle.model.double()
    program.model.double()
    pairs = [(source, source[::-1]) for source in random_sources(bundle)]
    for pair, its_TV in zip(pairs, program.logits(pairs), strict=True):
        torch.testing.assert_close(logits_of(bundle, *pair), its_TV, rtol=0, atol=1e-10)


STOPS: dict[bool | str, Stop] = {True: "full", False: "patient", "never": "exact"}


@pytest.mark.parametrize(
    ("early_stopping", "length_penalty"),
    [(False, 0.0), (False, 1.0), (True, 0.6), ("never", 0.0), ("never", 1.0), ("never", -0.5)],
)
def test_the_four_best_translations_and_their_scores_are_the_same(
    early_stopping: bool | str, length_penalty: float, bundle: Bundle, program: huggingface.Program
) -> None:
    how = replace(
        bundle.generation, size=4, n_best=4, stop=STOPS[early_stopping], length_penalty=length_penalty
    )
    sources = random_sources(bundle)

    ours = found_by(bundle, sources, how)
    theirs = program.search(
        sources, beam=4, max_tokens=LIMIT, length_penalty=length_penalty, early_stopping=early_stopping
    )

    assert [[list(each.tokens) for each in four] for four in ours] == [
        [tokens for tokens, _ in four] for four in theirs
    ]
    for four, its_four in zip(ours, theirs, strict=True):
        assert [each.score for each in four] == pytest.approx([score for _, score in its_four], abs=1e-4)
    assert len({len(each.tokens) for four in ours for each in four}) > 3


def test_the_comparison_agrees(bundle: Bundle, program: huggingface.Program) -> None:
    comparison = verify(bundle, program, LINES)

    assert comparison.lines == len(LINES)
    assert comparison.ties == 0
    assert comparison.worst < 1e-5


def test_lines_longer_than_the_table_of_positions_are_compared(tmp_path: Path) -> None:
    folder = opus.save(tmp_path, max_position_embeddings=16)
    bundle, program = huggingface.read(folder), huggingface.Program(folder)
    lines = ["a dog", "the dog sees a bird and the bird sees the dog " * 3]
    assert len(bundle.tokenizer.encode_source(lines)[1]) > 16

    assert verify(bundle, program, lines).worst < 1e-5


def test_a_score_is_the_sum_of_log_probabilities(plain: Path) -> None:
    program = huggingface.Program(plain)
    bundle = huggingface.read(plain)
    pairs = [(source, source[::-1]) for source in random_sources(bundle)]
    scored = dict(PyTorchEngine(bundle.model).score(pairs, bundle.generation))

    assert program.score(pairs) == pytest.approx([scored[i].logp for i in range(len(pairs))], abs=1e-4)


# In: the same text


def delicate_lines() -> list[str]:
    """Hundreds of lines that tokenizers like to spoil."""
    rng = random.Random(1)
    words = [word for text in opus.SENTENCES.values() for word in text.split()]
    odd = [*DELICATE, "<", ">>", "<<", ">>fra", "fra<<", "▁", "▁▁a", "①", "…", "\u200b", "½", "İ", "ß", "\t"]
    spaces = ["", " ", "  ", "\u00a0"]
    mixed = [
        "".join(rng.choice(spaces) + rng.choice(rng.choice([words, odd])) for _ in range(rng.randint(1, 6)))
        for _ in range(400)
    ]
    tagged = [f">>{language}<<{space}{words[3]}" for language in opus.LANGUAGES for space in spaces]
    return [*DELICATE, *mixed, *tagged]


def is_different_on_purpose(line: str, bundle: Bundle) -> bool:
    """Whether transformers reads a token's name in the line, or an unknown language at its beginning."""
    code, _, _ = line.strip().removeprefix(">>").partition("<<")
    foreign = line.strip().startswith(">>") and "<<" in line and code not in bundle.tokenizer.languages
    return foreign or any(name in line for name in ("</s>", "<unk>", "<pad>"))


def test_text_becomes_the_same_tokens(bundle: Bundle, program: huggingface.Program) -> None:
    lines = [line for line in delicate_lines() if not is_different_on_purpose(line, bundle)]
    assert len(lines) > 350

    assert bundle.tokenizer.encode_source(lines) == program.encode(lines)
    with_target = program.tokenizer(text_target=lines)["input_ids"]
    assert bundle.tokenizer.encode_target(lines) == [ids[:-1] for ids in with_target]


def test_tokens_become_the_same_text(bundle: Bundle, program: huggingface.Program) -> None:
    rng = random.Random(2)
    known = len(bundle.tokenizer.vocabularies[1]) - 3  # transformers fails for embeddings without a piece
    targets = [rng.choices(range(known), k=rng.randint(0, 9)) for _ in range(400)]

    assert [bundle.tokenizer.decode(target) for target in targets] == program.decode(targets)


@pytest.mark.parametrize("text", ["Two dogs </s> run", "<pad> dogs", ">>xyz<< Two dogs"])
def test_the_name_of_a_token_is_text(text: str, plain: Path) -> None:
    bundle = huggingface.read(plain)
    (ids,) = bundle.tokenizer.encode_source([text])
    assert bundle.tokenizer.end_id not in ids
    assert bundle.tokenizer.pad_id not in ids
    assert "▁do" in bundle.tokenizer.source_pieces(ids)
    assert len(ids) > 5


def test_target_languages_are_tokens(tmp_path: Path) -> None:
    bundle = huggingface.read(opus.save(tmp_path, languages=opus.LANGUAGES))

    assert bundle.tokenizer.languages == opus.LANGUAGES
    (ids,) = bundle.tokenizer.encode_source([">>fra<< A dog"])
    assert bundle.tokenizer.source_pieces(ids[:1]) == [">>fra<<"]


@pytest.mark.parametrize(
    ("name", "config", "languages"),
    [
        ("opus-mt-en-de", {}, ("en", "de")),
        ("opus-mt-tc-big-en-fr", {}, ("en", "fr")),
        ("opus-mt-en-ROMANCE", {"source_lang": "opus-mt-en"}, ("en", "ROMANCE")),
        ("models--Helsinki-NLP--opus-mt-fr-en/snapshots/0a1b", {}, ("fr", "en")),
        ("model", {"source_lang": "eng", "target_lang": "deu"}, ("eng", "deu")),
        ("model", {}, ("und", "und")),
    ],
)
def test_languages_come_from_the_settings_or_the_name(
    name: str, config: dict[str, str], languages: tuple[str, str], plain: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(plain, tmp_path / name))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))

    bundle = huggingface.read(folder)

    assert (bundle.source_language, bundle.target_language) == languages


# In: files and settings


def test_transformers_is_not_needed(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    huggingface.read(plain)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_old_pickle_of_tensors_is_the_same_model(dtype: torch.dtype, copy: Path) -> None:
    safe = huggingface.read(copy)
    model = huggingface.Program(copy).model.to(dtype)
    (copy / "model.safetensors").unlink()
    torch.save(model.state_dict(), copy / "pytorch_model.bin")  # with all copies and the positions
    assert "model.encoder.embed_positions.weight" in model.state_dict()

    pickled = huggingface.read(copy)

    assert pickled.model.config == safe.model.config
    for name, weight in weights(safe).items():
        assert torch.equal(weights(pickled)[name], weight.to(dtype).float())


def test_weights_in_several_files_are_read(copy: Path) -> None:
    whole = huggingface.read(copy)
    tensors = load_file(copy / "model.safetensors")
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for part, some in parts.items():
        save_file({name: tensors[name] for name in some}, copy / part)
    weight_map = {name: part for part, some in parts.items() for name in some}
    (copy / "model.safetensors").unlink()
    index = copy / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))

    assert same_weights(huggingface.read(copy), whole)

    index.write_text(json.dumps({"weight_map": {"a": "../a.safetensors"}}))
    with pytest.raises(ModelError, match="does not list files of this folder"):
        huggingface.read(copy)


def test_settings_of_an_early_repository_are_those_of_config_json(copy: Path) -> None:
    pad_id = json.loads((copy / "config.json").read_text())["pad_token_id"]
    (copy / "generation_config.json").unlink()
    opus.edit(
        copy / "config.json", num_beams=6, bad_words_ids=[[pad_id], [7]], max_length=512, early_stopping=True
    )

    assert huggingface.read(copy).generation == Beam(
        size=6, length_penalty=1.0, normalization="power", banned=(7,), stop="full"
    )


@pytest.mark.parametrize(("early_stopping", "stop"), STOPS.items())
def test_early_stopping_travels_both_ways(
    early_stopping: bool | str, stop: Stop, copy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opus.edit(copy / "generation_config.json", early_stopping=early_stopping)
    bundle = huggingface.read(copy)
    huggingface.write(replace(own(), generation=bundle.generation), tmp_path / "written")
    written = json.loads((tmp_path / "written" / "generation_config.json").read_text())

    assert bundle.generation.stop == stop
    assert written["early_stopping"] == early_stopping
    assert "early_stopping" not in caplog.text


@pytest.mark.parametrize(
    "settings", [{"no_repeat_ngram_size": 2, "repetition_penalty": 3.0}, {"decoder_start_token_id": None}]
)
def test_settings_that_are_left_out_do_not_disagree(
    settings: dict[str, Any], copy: Path, tmp_path: Path
) -> None:
    """The comparison at import is with what is imported, not with rules that only the other program has."""
    opus.edit(copy / "generation_config.json", **settings)
    assert import_model(str(copy), tmp_path / "imported").comparison is not None


def test_what_a_search_cannot_keep_is_said(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    opus.edit(
        copy / "generation_config.json",
        no_repeat_ngram_size=3,
        bad_words_ids=[[5, 6], [8]],
        early_stopping="sometimes",
        repetition_penalty=1.0,
        do_sample=False,
    )
    bundle = huggingface.read(copy)

    assert bundle.generation.banned == (8,)
    assert "no_repeat_ngram_size = 3" in caplog.text
    assert "[5, 6]" in caplog.text
    assert "'sometimes'" in caplog.text
    assert "repetition_penalty" not in caplog.text
    assert "do_sample" not in caplog.text


def test_added_tokens_are_said_to_be_text(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    opus.edit(copy / "tokenizer_config.json", additional_special_tokens=["<eop>", {"content": "<unk>"}])

    huggingface.read(copy)

    assert "read as text: <eop>" in caplog.text


def test_tied_weights_that_differ_are_not_tied(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    tensors = load_file(copy / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.shared.weight"] + 0.1
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})

    bundle = huggingface.read(copy)

    assert bundle.model.config.tie == "none"
    assert "differ" in caplog.text
    verify(bundle, huggingface.Program(copy), LINES)  # transformers does the same


# In: quirks that people met


def test_the_decoder_starts_with_the_stated_token(copy: Path) -> None:
    """A wrong start gives repeated or empty translations. generation_config.json wins over config.json."""
    pad_id = json.loads((copy / "config.json").read_text())["pad_token_id"]
    opus.edit(copy / "config.json", decoder_start_token_id=0)

    bundle = huggingface.read(copy)

    assert (bundle.model.config.start_id, bundle.tokenizer.start_id) == (pad_id, pad_id)
    verify(bundle, huggingface.Program(copy), LINES)


def test_another_start_than_padding_is_kept(copy: Path) -> None:
    opus.edit(copy / "generation_config.json", decoder_start_token_id=0, bad_words_ids=None)

    bundle = huggingface.read(copy)

    assert bundle.model.config.start_id == 0
    verify(bundle, huggingface.Program(copy), LINES)


def test_a_missing_start_is_padding(copy: Path) -> None:
    for name in ("config.json", "generation_config.json"):
        opus.edit(copy / name, decoder_start_token_id=None)

    assert huggingface.read(copy).model.config.start_id == huggingface.read(copy).model.config.pad_id


def test_padding_is_never_generated_although_nothing_bans_it(copy: Path) -> None:
    """The row of padding is zero, so its logit is its bias: higher than most others."""
    opus.edit(copy / "generation_config.json", bad_words_ids=None, renormalize_logits=None)
    tensors = load_file(copy / "model.safetensors")
    tensors["final_logits_bias"][0, -1] = 100.0
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})

    bundle = huggingface.read(copy)
    (found,) = found_by(bundle, random_sources(bundle, 1), replace(bundle.generation, size=1))

    assert bundle.tokenizer.pad_id not in found[0].tokens
    verify(bundle, huggingface.Program(copy), LINES)


def test_the_end_must_be_the_end_of_the_vocabulary(copy: Path) -> None:
    """With another id, sources end with the wrong token, and translations never."""
    for name in ("config.json", "generation_config.json"):
        opus.edit(copy / name, eos_token_id=2)

    with pytest.raises(ModelError, match="the end token has id 0, but eos_token_id is 2"):
        huggingface.read(copy)


def test_reading_leaves_the_random_state_alone(plain: Path) -> None:
    before = torch.get_rng_state()
    huggingface.read(plain)
    assert torch.equal(torch.get_rng_state(), before)


# Out


def own(kind: str = "bpe", *, shared: bool = True, seed: int = 5, **changes: Any) -> Bundle:
    """A model of ours, of random weights."""
    options = {"lowercase": changes.pop("lowercase", False)}
    tokenizer = Tokenizer.train(
        PAIRS,
        TokenizerConfig(kind=kind, shared=shared, vocab_size=340, **options),  # type: ignore[arg-type]
    )
    shape: dict[str, Any] = {
        "d_model": 24, "d_ff": 40, "heads": 4, "encoder_layers": 2, "decoder_layers": 1,
        "tie": "all" if shared else "decoder",
    }  # fmt: skip
    config = TransformerConfig(
        source_vocab=tokenizer.source_size, target_vocab=tokenizer.target_size, **{**shape, **changes}
    )
    torch.manual_seed(seed)
    model = build_model(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.add_(0.3 * torch.randn_like(weight) * ("norm" in name or "bias" in name))
    return Bundle(
        model=model,
        tokenizer=tokenizer,
        source_language="en",
        target_language="de",
        generation=Beam(size=5, length_penalty=0.0),
    )


OWN: dict[str, dict[str, Any]] = {
    "default": {},
    "two vocabularies": {"kind": "unigram", "shared": False},
    "characters": {"kind": "characters", "positions": "sinusoidal-halves"},
    "nothing tied": {"tie": "none", "activation": "gelu", "output_bias": True},
    "biases": {"attention_bias": True, "activation": "swish", "embedding_scale": False},
    "lower case": {"lowercase": True, "activation": "quick-gelu"},
    "lower-case source": {"lowercase": "source", "shared": False},
    "pre-norm": {"norm": "pre", "output_bias": True, "lowercase": "source"},
    "odd width": {"d_model": 15, "heads": 3},
}


@pytest.mark.parametrize("name", OWN)
def test_a_model_of_ours_is_the_same_there_and_back(name: str, tmp_path: Path) -> None:
    bundle = own(**OWN[name])
    folder = tmp_path / "out"

    huggingface.write(bundle, folder)

    program = huggingface.Program(folder)
    lines = [line for line, _ in PAIRS] + ["Ünknown wörds: ж 中 🙂", "  two   spaces "]
    assert verify(bundle, program, lines).worst < 1e-5
    back = huggingface.read(folder)
    assert same_weights(bundle, back)
    assert back.model.config == bundle.model.config
    assert back.generation == replace(bundle.generation, normalization="power")
    assert verify(back, program, lines[:3]).ties == 0


def test_the_logits_of_a_model_of_ours_are_the_same(tmp_path: Path) -> None:
    bundle = own()  # with alternating sines and cosines, whose columns are reordered
    huggingface.write(bundle, tmp_path)
    program = huggingface.Program(tmp_path)
    bundle.model.double()
    program.model.double()
    pairs = [(source, source[::-1]) for source in random_sources(bundle)]
    for pair, its_TV in zip(pairs, program.logits(pairs), strict=True):
        torch.testing.assert_close(logits_of(bundle, *pair), its_TV, rtol=0, atol=1e-6)  # float32 positions


def test_text_of_a_model_of_ours_becomes_the_same_tokens(tmp_path: Path) -> None:
    bundle = own()
    huggingface.write(bundle, tmp_path)
    program = huggingface.Program(tmp_path)
    lines = [line for line in delicate_lines() if not line.strip().startswith(">>")]

    assert bundle.tokenizer.encode_source(lines) == program.encode(lines)  # "</s>" and "<0x41>" are text
    targets = bundle.tokenizer.encode_target(lines)
    assert [text.strip() for text in map(bundle.tokenizer.decode, targets)] == program.decode(targets)


def test_an_imported_model_goes_out_as_it_came(bundle: Bundle, tmp_path: Path) -> None:
    huggingface.write(bundle, tmp_path)

    back = huggingface.read(tmp_path)
    assert same_weights(bundle, back)
    assert back.model.config == bundle.model.config
    assert back.generation == bundle.generation
    assert back.tokenizer.languages == bundle.tokenizer.languages
    lines = [line for line in delicate_lines() if not is_different_on_purpose(line, bundle)]
    its = huggingface.Program(tmp_path)
    assert back.tokenizer.encode_source(lines) == bundle.tokenizer.encode_source(lines) == its.encode(lines)


def test_an_imported_model_is_a_model_folder(
    bundle: Bundle, program: huggingface.Program, tmp_path: Path
) -> None:
    save(bundle, tmp_path)

    assert same_weights(load(tmp_path), bundle)
    texts = [
        each.text for each in Translator.load(tmp_path, device="cpu").translate(LINES, beam=1, split=False)
    ]
    sources = bundle.tokenizer.encode_source(LINES)
    greedy = program.translate(sources, [len(source) + 50 for source in sources])
    assert texts == [bundle.tokenizer.decode(tokens) for tokens in greedy]


def test_what_cannot_be_held_is_listed_before_anything_is_written(tmp_path: Path) -> None:
    bundle = own(
        norm="pre",
        final_norm=False,
        tie="none",
        positions="rotary",
        window=3,
        activation="swiglu",
        norm_epsilon=1e-6,
        norm_kind="rms",
        kv_heads=1,
        embedding_norm=True,
    )
    folder = tmp_path / "out"

    with pytest.raises(ConfigError) as error:
        huggingface.write(bundle, folder)
    for fault in (
        '"pre" with model.tie = "none"',
        "model.final_norm = false",
        '"rotary"',
        "model.window = 3",
        '"swiglu"',
        "model.norm_epsilon = 1e-06",
        'model.norm_kind = "rms"',
        "model.kv_heads = 1",
        "model.embedding_norm = true",
    ):
        assert fault in str(error.value)
    assert not folder.exists()


@pytest.mark.parametrize("positions", ["learned", "index", "fraction", "none", "relative", "t5", "alibi"])
def test_other_positions_are_refused(positions: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f'model.positions = "{positions}"'):
        huggingface.write(own(positions=positions), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [RecurrentConfig, ConvolutionalConfig, SSRUConfig])
def test_other_architectures_are_refused(
    kind: type[RecurrentConfig | ConvolutionalConfig | SSRUConfig], tmp_path: Path
) -> None:
    tokenizer = own().tokenizer
    config = kind(source_vocab=tokenizer.source_size, target_vocab=tokenizer.target_size, d_model=8)

    with pytest.raises(ConfigError, match=f'model.architecture = "{config.architecture}"'):
        huggingface.write(replace(own(), model=build_model(config)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_words_are_refused(tmp_path: Path) -> None:
    words = Tokenizer.train(PAIRS, TokenizerConfig(kind="words"))
    config = TransformerConfig(source_vocab=words.source_size, target_vocab=words.target_size, d_model=8)

    with pytest.raises(ConfigError, match='tokenizer.kind = "words"'):
        huggingface.write(replace(own(), model=build_model(config), tokenizer=words), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_only_approximated_is_said(tmp_path: Path) -> None:
    bundle = own()
    assert huggingface.notes(bundle) == []
    bundle = replace(bundle, generation=Beam(length_penalty=0.6, stop="shrinking"))

    huggingface.write(bundle, tmp_path)

    penalty, beam = huggingface.notes(bundle)
    assert "a power of 0.5" in penalty
    assert "does not shrink" in beam
    written = json.loads((tmp_path / "generation_config.json").read_text())
    assert written["length_penalty"] == 0.5  # 0.6 x 25 / 30


def test_spaces_are_not_cleaned_up(copy: Path) -> None:
    """Neither did the translation pipeline of transformers, whatever the tokenizer's settings say."""
    opus.edit(copy / "tokenizer_config.json", clean_up_tokenization_spaces=True)
    bundle, program = huggingface.read(copy), huggingface.Program(copy)
    (ids,) = bundle.tokenizer.encode_target(["Zwei Hunde !"])

    assert program.tokenizer.decode(ids) == "Zwei Hunde!"
    assert bundle.tokenizer.decode(ids) == "Zwei Hunde !"
    assert program.decode([ids]) == ["Zwei Hunde !"]


def test_the_power_orders_translations_of_a_usual_length_alike() -> None:
    gnmt = Beam(length_penalty=0.6)
    power = Beam(length_penalty=0.5, normalization="power")
    for length in (24, 26):
        ratio, its_ratio = (how.penalty(25) / how.penalty(length) for how in (gnmt, power))
        assert ratio == pytest.approx(its_ratio, rel=1e-3)


def test_the_settings_are_those_of_the_search(tmp_path: Path) -> None:
    from transformers import GenerationConfig

    how = Beam(
        size=3, length_penalty=1.2, normalization="power", stop="patient", banned=(9,), renormalize=True
    )
    huggingface.write(replace(own(), generation=how), tmp_path)

    written = GenerationConfig.from_pretrained(tmp_path)

    assert (written.num_beams, written.length_penalty, written.early_stopping) == (3, 1.2, False)
    assert written.renormalize_logits is True
    assert written.bad_words_ids == [[0], [1], [9]]  # padding and start are never generated here
    assert (written.decoder_start_token_id, written.eos_token_id, written.pad_token_id) == (1, 2, 0)


@pytest.mark.parametrize(
    ("norm", "name"), [("post", "MarianMTModel"), ("pre", "PegasusForConditionalGeneration")]
)
def test_auto_classes_load_the_folder(norm: str, name: str, tmp_path: Path) -> None:
    """BertViz, inseq and optimum load models with these."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianTokenizer

    huggingface.write(own(norm=norm), tmp_path)

    assert type(AutoModelForSeq2SeqLM.from_pretrained(tmp_path)).__name__ == name
    assert isinstance(AutoTokenizer.from_pretrained(tmp_path), MarianTokenizer)


def test_generate_gives_our_beam_search(tmp_path: Path) -> None:
    """Without options of ours: as a user of the folder calls it."""
    from transformers import MarianMTModel, MarianTokenizer

    bundle = replace(own(), generation=Beam(size=4, length_penalty=1.0, normalization="power"))
    huggingface.write(bundle, tmp_path)
    model, tokenizer = MarianMTModel.from_pretrained(tmp_path), MarianTokenizer.from_pretrained(tmp_path)
    lines = [line for line, _ in PAIRS]
    limit = 40
    inputs = tokenizer(lines, return_tensors="pt", padding=True)

    generated = model.generate(**inputs, max_length=None, max_new_tokens=limit + 1)

    texts = tokenizer.batch_decode(generated, skip_special_tokens=True)
    requests = [
        Request(source=source, how=bundle.generation, max_tokens=limit)
        for source in bundle.tokenizer.encode_source(lines)
    ]
    found = dict(PyTorchEngine(bundle.model).search(requests))
    ended = [i for i in range(len(lines)) if not found[i][0].truncated]
    assert [texts[i] for i in ended] == [bundle.tokenizer.decode(found[i][0].tokens).strip() for i in ended]


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ({"beam": 1}, {"num_beams": 1}),
        ({"beam": 3, "n_best": 3}, {"num_beams": 3, "num_return_sequences": 3}),
        (
            {"beam": 4, "length_penalty": 0.0, "stop": "full"},
            {"num_beams": 4, "length_penalty": 0.0, "early_stopping": True},
        ),
        (
            {"beam": 4, "length_penalty": 0.5, "stop": "exact"},
            {"num_beams": 4, "length_penalty": 0.5, "early_stopping": "never"},
        ),
        ({"beam": 1, "max_extra_tokens": 0}, {"num_beams": 1}),
        ({"beam": 1, "minimum_length": 11, "max_extra_tokens": 30}, {"num_beams": 1, "min_length": 12}),
        (
            {"beam": 1, "no_repeat_ngram": 2, "max_extra_tokens": 30},
            {"num_beams": 1, "no_repeat_ngram_size": 2},
        ),
    ],
    ids=str,
)
def test_our_options_mean_what_theirs_do(
    options: dict[str, Any], theirs: dict[str, Any], tmp_path: Path
) -> None:
    """The table of docs/how-to/opus-mt.md: `translate` with ours gives what `generate` gives with theirs."""
    from transformers import MarianMTModel, MarianTokenizer

    folder = opus.save(tmp_path, separate=True, activation_function="relu")
    model, tokenizer = MarianMTModel.from_pretrained(folder), MarianTokenizer.from_pretrained(folder)
    translator = Translator.of(huggingface.read(folder))
    for text in ("Two dogs run through the deep snow.", "An old boat lies near the bridge.", "Children play"):
        inputs = tokenizer(text, return_tensors="pt")
        # With a beam above 1 no translation may reach the limit: transformers ends it there free of charge.
        longest = inputs["input_ids"].shape[1] + options.get("max_extra_tokens", 50)
        generated = model.generate(**inputs, max_length=None, max_new_tokens=longest, **theirs)

        (best,) = translator.translate([text], **options)

        assert [best.text, *(one.text for one in best.alternatives or ())] == tokenizer.batch_decode(
            generated, skip_special_tokens=True
        )
