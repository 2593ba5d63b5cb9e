"""The ONNX graphs compute what the PyTorch model does, and the folder has all that a program needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.test_contract import CONFIGS, drawn, sources, targets, transformer
from tests.translation.bundles import several_bundle

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.interop.onnx.onnx import OnnxRuntime, unsupported, write
from dragoman.interop.verify import verify
from dragoman.models.folder import bundle as folders
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.weights import weights_of
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.subwords import Subwords
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.options import Beam, Decoding

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "onnx_translate.py"
LINES = [*(SAVED / "text" / "test.en").read_text("utf-8").splitlines(), "", " a  stone ", "ж 漢 🙂"]
PAIRS = [("the moon is pale", "pale the moon is"), ("old stones", "stones old")]
WORDS = Tokenizer.train(PAIRS, TokenizerConfig(kind="words", vocab_size=10))
HELD = {name: config for name, config in CONFIGS.items() if name.startswith(("transformer", "ssru"))}
STEPS = 7
BEAMS = [None, [0, 0, 1, 1, 2, 2, 3, 3], None, [1, 0, 2, 2, 5, 4, 7, 6], [7, 3, 0], None, [1]]


def bundle_of(config: Any, tokenizer: Tokenizer = WORDS, generation: Beam | None = None) -> Bundle:
    """A bundle with random weights, none of which has a special value."""
    return Bundle(
        model=drawn(config).float(),
        tokenizer=tokenizer,
        source_language="en",
        target_language="yo",
        generation=generation or Beam(),
    )


def sessions(folder: Path) -> Iterator[Any]:
    for name in ("encoder", "decoder"):
        yield onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])


# ---- the graphs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HELD)
def test_every_step_gives_the_logits_of_the_model(name: str, tmp_path: Path) -> None:
    bundle = bundle_of(HELD[name])
    write(bundle, tmp_path)
    encoder, decoder = sessions(tmp_path)
    description = json.loads((tmp_path / "model.json").read_text("utf-8"))
    source_BS, length_B = sources(HELD[name])
    token_NT = targets(HELD[name], 8, STEPS).numpy()

    # Drive the graphs as the documentation says: names from model.json, rows selected on the first axis.
    fixed = dict(
        zip(
            description["encoder"]["outputs"],
            encoder.run(None, {"source": source_BS.numpy(), "source_length": length_B.numpy()}),
            strict=True,
        )
    )
    fixed["source_length"] = length_B.numpy()
    past = {
        name: np.zeros([len(length_B), *shape[1:]], np.float32) for name, shape in description["past"].items()
    }
    histories, sentences = [[] for _ in length_B], list(range(len(length_B)))
    for position, rows in enumerate(BEAMS):
        if rows is not None:
            fixed, past = ({key: value[rows] for key, value in each.items()} for each in (fixed, past))
            histories, sentences = [list(histories[row]) for row in rows], [sentences[row] for row in rows]
        token_N = token_NT[: len(histories), position]
        for history, token in zip(histories, token_N, strict=True):
            history.append(int(token))
        logits_NV, *present = decoder.run(
            None, {"token": token_N, "position": np.array(position), **fixed, **past}
        )
        past = dict(zip(past, present, strict=True))
        with torch.no_grad():
            memory = bundle.model.encode(source_BS[sentences], length_B[sentences])
            wanted_NV = bundle.model.decode(torch.tensor(histories), memory)[:, -1]
        largest = max(1.0, float(wanted_NV.abs().max()))  # random weights can make logits of 100
        np.testing.assert_allclose(logits_NV, wanted_NV, rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("kv_heads", [None, 1])
def test_a_batch_of_no_rows_is_possible(kv_heads: int | None, tmp_path: Path) -> None:
    write(bundle_of(transformer(kv_heads=kv_heads)), tmp_path)
    encoder, decoder = sessions(tmp_path)

    none = np.zeros(0, np.int64)
    memory = encoder.run(None, {"source": np.zeros((0, 3), np.int64), "source_length": none})
    names = json.loads((tmp_path / "model.json").read_text("utf-8"))
    inputs = dict(zip(names["encoder"]["outputs"], memory, strict=True))
    inputs |= {name: np.zeros((0, *shape[1:]), np.float32) for name, shape in names["past"].items()}
    logits_NV, *_ = decoder.run(
        None, {**inputs, "token": none, "position": np.array(0), "source_length": none}
    )

    assert logits_NV.shape == (0, 19)


def test_positions_suffice_for_what_is_translated_by_default() -> None:
    from dragoman.interop.onnx.transformer import POSITIONS

    assert Decoding().max_source_tokens + Decoding().max_extra_tokens + 1 < POSITIONS


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_position_beyond_the_table_is_an_error(positions: str, tmp_path: Path) -> None:
    write(bundle_of(transformer(positions=positions, d_model=24)), tmp_path)
    encoder, decoder = sessions(tmp_path)
    model = json.loads((tmp_path / "model.json").read_text("utf-8"))
    inputs = dict(
        zip(
            model["encoder"]["outputs"],
            encoder.run(None, {"source": np.array([[4, 2]]), "source_length": np.array([2])}),
            strict=True,
        )
    )
    inputs |= {name: np.zeros(shape, np.float32) for name, shape in model["past"].items()}
    inputs |= {"token": np.array([1]), "source_length": np.array([2])}

    decoder.run(None, {**inputs, "position": np.array(model["longest"] - 1)})
    with pytest.raises(Exception, match="out of data bounds"):
        decoder.run(None, {**inputs, "position": np.array(model["longest"])})


# ---- the folder ----------------------------------------------------------------------------------------


def test_the_graphs_are_valid_and_hold_no_traces_of_this_machine(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(bundle_of(transformer(norm="pre", activation="gelu")), tmp_path / folder)

    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        assert os.fsencode(tmp_path) not in path.read_bytes()
        assert os.fsencode(Path(onnx.__file__).parents[3]) not in path.read_bytes()
    for name in ("encoder", "decoder"):
        onnx.checker.check_model(tmp_path / "one" / f"{name}.onnx", full_check=True)
        graph = onnx.load(tmp_path / "one" / f"{name}.onnx", load_external_data=False).graph
        assert not graph.doc_string
        assert not any(node.doc_string or node.metadata_props for node in graph.node)


def test_the_description_names_the_inputs_and_outputs(tmp_path: Path) -> None:
    generation = Beam(size=3, banned=(7,), renormalize=True)
    write(bundle_of(transformer(end_id=4, pad_id=5), generation=generation), tmp_path)

    model = json.loads((tmp_path / "model.json").read_text("utf-8"))
    for name, session in zip(("encoder", "decoder"), sessions(tmp_path), strict=True):
        for ports, actual in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
            kinds = {"int64": "tensor(int64)", "float32": "tensor(float)"}
            assert [(port.name, port.type, port.shape) for port in actual] == [
                (name, kinds[port["type"]], port["shape"]) for name, port in model[name][ports].items()
            ]
    assert (model["pad_id"], model["start_id"], model["end_id"], model["unknown_id"]) == (5, 1, 4, 3)
    assert (model["source_language"], model["target_language"]) == ("en", "yo")
    assert model["never"] == [1, 5, 7]
    assert model["generation"]["size"] == 3
    assert model["past"] == {
        f"past_{name}_{layer}": [1, 3, 0, 4] for layer in (0, 1) for name in ("keys", "values")
    }


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_each_weight_is_stored_once(tie: str, tmp_path: Path) -> None:
    bundle = bundle_of(transformer(tie=tie, source_vocab=3000, target_vocab=3000, positions="learned"))
    write(bundle, tmp_path)

    numbers = sum(weight.numel() for weight in weights_of(bundle.model).values())
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    # The rest: places of weights on pages of 4096 bytes, small ones in both graphs, and the graphs.
    assert 4 * numbers < size < 4 * numbers + 100_000


@pytest.mark.parametrize("config", [RecurrentConfig(), ConvolutionalConfig()], ids=lambda c: c.architecture)
def test_what_the_graphs_cannot_hold_is_refused_before_writing(config: Any, tmp_path: Path) -> None:
    bundle = replace(
        bundle_of(transformer()),
        model=build_model(replace(config, source_vocab=10, target_vocab=10, d_model=8)),
    )

    assert unsupported(bundle_of(transformer())) == []
    with pytest.raises(ConfigError, match=f"the {config.architecture} architecture"):
        write(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ConfigError, match=f"{missing} is not installed") as caught:
        write(bundle_of(transformer()), tmp_path / "out") if missing == "onnx" else OnnxRuntime(
            tmp_path / "out"
        )
    assert "dragoman[onnx]" in caught.value.hint
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore")  # of the quantization
def test_the_weights_can_be_quantized(tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    bundle = folders.load(SAVED / "transformer")  # a matrix for the embeddings and the output layer
    for folder in ("full", "int8"):
        write(bundle, tmp_path / folder)
    for name in ("encoder.onnx", "decoder.onnx"):
        quantization.quantize_dynamic(tmp_path / "full" / name, tmp_path / "int8" / name)
    pair = ((40, 41, 42), (50, 51))

    full, int8 = (OnnxRuntime(tmp_path / folder).score([pair]) for folder in ("full", "int8"))

    assert full != int8
    assert full == pytest.approx(int8, abs=0.5)


def test_half_precision_is_written_as_float32(tmp_path: Path) -> None:
    bundle = bundle_of(transformer())
    write(replace(bundle, model=drawn(transformer()).bfloat16()), tmp_path)

    _, decoder = sessions(tmp_path)
    assert {port.type for port in decoder.get_outputs()} == {"tensor(float)"}


# ---- whole translations --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["transformer", "window"])
def test_a_trained_model_translates_the_same(name: str, tmp_path: Path) -> None:
    bundle = folders.load(SAVED / name)
    write(bundle, tmp_path)

    comparison = verify(bundle, OnnxRuntime(tmp_path), LINES, tolerance=1e-5)

    assert comparison.program == f"onnxruntime {onnxruntime.__version__}"
    assert comparison.lines == len(LINES)


def mapped() -> Tokenizer:
    """A tokenizer as imported models have it: padding last and also the start, a language token, no bytes."""
    model = (SAVED / "transformer" / "tokenizer.spm").read_bytes()
    known = [piece for piece in Subwords(model).pieces(range(260, 330)) if piece != "▁"]
    pieces = ["</s>", "<unk>", *known, ">>fra<<", "▁", "<pad>"]
    last = len(pieces) - 1
    specials = Specials(pad=last, start=last, end=0, unknown=1)
    vocabulary = Mapped(model, pieces, specials)
    return Tokenizer(
        TokenizerConfig(kind="mapped", vocab_size=len(pieces)), vocabulary, vocabulary, specials=specials
    )


def imported(**changes: Any) -> Bundle:
    """A model like an imported one, with random weights that translate into many different tokens."""
    tokenizer = mapped()
    ids: dict[str, Any] = {
        "pad_id": tokenizer.pad_id,
        "start_id": tokenizer.start_id,
        "end_id": tokenizer.end_id,
    }
    vocab = {"source_vocab": tokenizer.source_size, "target_vocab": tokenizer.target_size}
    config = transformer(
        **ids, **vocab, attention_bias=True, output_bias=True, positions="sinusoidal-t2t", activation="swish",
        norm_epsilon=1e-6, d_model=24,
    )  # fmt: skip
    return bundle_of(config, tokenizer, Beam(banned=(7, 8), renormalize=True, **changes))


def test_a_model_like_an_imported_one_translates_the_same(tmp_path: Path) -> None:
    bundle = imported()
    write(bundle, tmp_path)
    program = OnnxRuntime(tmp_path)

    verify(bundle, program, [*LINES, ">>fra<< the moon"], tolerance=1e-5)

    sources = bundle.tokenizer.encode_source(LINES)
    translations = program.translate(sources, [5] * len(sources))
    assert len({tuple(each) for each in translations}) > 3  # the comparison could fail
    assert max(map(len, translations)) == 5
    assert translations[LINES.index("")] == []


def test_scores_are_those_of_our_engine_also_for_empty_lines(tmp_path: Path) -> None:
    bundle = imported()
    write(bundle, tmp_path)
    pairs = [((5, 6, 9), (4,)), ((), (4, 5)), ((5,), ()), ((), ()), ((9,) * 30, (3,) * 40)]

    scores = OnnxRuntime(tmp_path).score(pairs)

    ours = dict(PyTorchEngine(bundle.model).score(pairs, bundle.generation))
    assert scores == pytest.approx([ours[number].logp for number in range(len(pairs))], rel=1e-5)


def lowercased() -> Bundle:
    """The trained model with a tokenizer that lower-cases, which its own does not."""
    bundle = folders.load(SAVED / "transformer")
    config = replace(bundle.tokenizer.config, lowercase=True)
    return replace(bundle, tokenizer=Tokenizer(config, *bundle.tokenizer.vocabularies))


EXAMPLES = {
    "trained": lambda: folders.load(SAVED / "transformer"),
    "imported": imported,
    "lowercased": lowercased,
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_example_translates_as_we_do(kind: str, tmp_path: Path) -> None:
    bundle = EXAMPLES[kind]()
    write(bundle, tmp_path)
    lines = [*LINES, ">>fra<< the moon", ">>tlh<< the moon", "THE MOON"]
    wanted = [each.text for each in Translator.of(bundle).translate(lines, beam=1, split=False)]
    assert len(set(wanted)) > 2
    assert by_example(tmp_path, lines) == wanted


def test_the_example_begins_with_the_mark_of_a_language(tmp_path: Path) -> None:
    bundle = several_bundle(target_mark="target", byte_fallback=False)
    write(bundle, tmp_path)
    lines = ["A baker sells fresh bread.", "Two boats"]
    how: Any = {"beam": 1, "split": False, "source": "en", "to": "fr"}
    wanted = [each.text.strip() for each in Translator.of(bundle).translate(lines, **how)]
    found = by_example(tmp_path, [f">>en<< {line}" for line in lines], "fr")
    assert [line.strip() for line in found] == wanted


def test_the_example_reads_marks_with_capitals(tmp_path: Path) -> None:
    bundle = several_bundle(languages=("zh-Hans", "en"), lowercase=True, source_mark=False)
    write(bundle, tmp_path)
    lines = ["A Baker sells fresh bread.", "Two boats"]
    how: Any = {"beam": 1, "split": False, "to": "zh-Hans"}
    wanted = [each.text.strip() for each in Translator.of(bundle).translate(lines, **how)]
    found = by_example(tmp_path, [f">>zh-Hans<< {line}" for line in lines])
    assert [line.strip() for line in found] == wanted


def by_example(folder: Path, lines: list[str], *language: str) -> list[str]:
    """What the example makes of lines, without dragoman and torch."""
    without_us = "import runpy, sys; sys.modules |= dict.fromkeys(['torch', 'dragoman']); " + (
        "runpy.run_path(sys.argv.pop(1))"
    )
    found = subprocess.run(
        [sys.executable, "-c", without_us, EXAMPLE, folder, *language],
        input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8", check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    return found.stdout.split("\n")[:-1]
