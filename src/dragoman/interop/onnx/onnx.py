"""ONNX: two graphs that onnxruntime runs on servers, phones and in browsers.

    encoder.onnx        source tokens -> the input of the decoder from a source, computed once a sentence
    decoder.onnx        one token of each row and the past -> logits of the next token and the new past
    weights.bin         the weights of both; each is stored once
    model.json          inputs and outputs, special ids, languages, options of the search
    tokenizer.json ...  the tokenizer's files, as in a model folder

A row is one hypothesis. To reorder rows, or to give a sentence several, select entries of the first axis of
the past and of the encoder's outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.base.config import to_table
from dragoman.base.errors import ConfigError
from dragoman.base.files import replacing, write_whole
from dragoman.base.machine import optional_package
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.interop.verify import Agreement
    from dragoman.models.folder.bundle import Bundle
    from dragoman.translation.search.engine import Tokens

Array = np.ndarray[Any, Any]

FORMAT_VERSION = 1
_NAME, _WEIGHTS = "model.json", "weights.bin"
_PAST, _PRESENT = "past_", "present_"
_ROWS = 64  # sentences that `OnnxRuntime` decodes at a time


def unsupported(bundle: Bundle) -> list[str]:
    """Return the parts of the model that the graphs cannot hold, in plain words."""
    config = bundle.model.config
    known = isinstance(config, TransformerConfig | SSRUConfig)
    return [] if known else [f"the {config.architecture} architecture"]


def notes(bundle: Bundle) -> list[str]:
    """Nothing changes: model.json has the options of the search."""
    return []


def verify(bundle: Bundle, folder: Path, lines: Sequence[str]) -> Agreement:
    """Compare the model with onnxruntime. Raises DragomanError if they disagree."""
    from dragoman.interop import verify as comparing

    return comparing.verify(bundle, OnnxRuntime(folder), lines)


def write(bundle: Bundle, folder: Path) -> None:
    """Write the graphs, their weights and the tokenizer into `folder`, which is created if missing.

    model.json comes last: if it exists, the others do. Raises ConfigError, before anything is written, with
    all that the graphs cannot hold; DragomanError if the package onnx is missing or the disk is full.
    """
    if reasons := unsupported(bundle):
        raise ConfigError(f"ONNX cannot hold this model: {'; '.join(reasons)}", hint="choose another format")
    optional_package("onnx", "onnx")
    from dragoman.interop.onnx import transformer as onnx_transformer
    from dragoman.interop.onnx.graph import WeightFile

    model: Any = bundle.model  # `unsupported` has checked its type
    with replacing(folder / _WEIGHTS) as part, part.open("wb") as file:
        weights = WeightFile(file, _WEIGHTS)
        graphs = [onnx_transformer.encoder(model, weights), onnx_transformer.decoder(model, weights)]
    for graph in graphs:
        write_whole(folder / f"{graph.name}.onnx", graph.to_bytes())
    bundle.tokenizer.save(folder)
    table = _description(bundle, onnx_transformer.longest(model))
    table |= {graph.name: {"inputs": graph.inputs, "outputs": graph.outputs} for graph in graphs}
    table["past"] = {
        name: [{"rows": 1, "past": 0}.get(str(size), size) for size in port["shape"]]
        for name, port in graphs[1].inputs.items()
        if name.startswith(_PAST)
    }
    write_whole(folder / _NAME, json.dumps(table, indent=2, ensure_ascii=False) + "\n")


def _description(bundle: Bundle, limit: int | None) -> dict[str, Any]:
    """Return the facts that a program needs besides inputs and outputs."""
    config, tokenizer = bundle.model.config, bundle.tokenizer
    starts = {one: list(start) for one in tokenizer.languages if (start := tokenizer.target_start(one))}
    return {
        **({"target_start": starts} if starts else {}),  # how translations into each language begin
        "format_version": FORMAT_VERSION,
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "pad_id": config.pad_id,
        "start_id": config.start_id,
        "end_id": config.end_id,
        "unknown_id": bundle.tokenizer.unk_id,
        "source_vocab": config.source_vocab,
        "target_vocab": config.target_vocab,
        "lowercase": bundle.tokenizer.config.lowercase in (True, "source"),
        "punctuation": bundle.tokenizer.config.punctuation,
        "longest": limit,
        "never": sorted({config.pad_id, config.start_id, *bundle.generation.banned} - {config.end_id}),
        "generation": to_table(bundle.generation),
    }


class OnnxRuntime:
    """onnxruntime with an exported folder, all that it reads: a `dragoman.interop.verify.Program`."""

    def __init__(self, folder: Path) -> None:
        """Raise DragomanError if onnxruntime is missing."""
        runtime = optional_package("onnxruntime", "onnx")
        self.name = f"onnxruntime {runtime.__version__}"
        self._model = json.loads((folder / _NAME).read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.load(folder)
        options = runtime.SessionOptions()
        # Idle threads would keep a core busy that PyTorch needs between two calls.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._encoder, self._decoder = (
            runtime.InferenceSession(folder / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return self._tokenizer.encode_source([line.strip() for line in lines])

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        return [self._tokenizer.decode(target) for target in targets]

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]]:
        targets: list[list[int]] = [[] for _ in sources]
        for batch in _batches([len(source) for source in sources]):
            rows = self._start([sources[number] for number in batch])
            live, token_N = batch, np.full(len(batch), self._model["start_id"])
            while live:
                logits_NV = rows.step(token_N)
                logits_NV[:, self._model["never"]] = -np.inf
                token_N = logits_NV.argmax(1)
                open_N = np.array([len(targets[number]) < max_tokens[number] for number in live])
                going = np.flatnonzero(open_N & (token_N != self._model["end_id"]))
                if len(going) < len(live):
                    live, token_N = [live[row] for row in going], token_N[going]
                    rows.select(going)
                for number, token in zip(live, token_N.tolist(), strict=True):
                    targets[number].append(token)
        return targets

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        totals = np.zeros(len(pairs))
        for batch in _batches([max(map(len, pair)) for pair in pairs]):
            rows = self._start([pairs[number][0] for number in batch])
            target_NT, length_N = _padded([pairs[number][1] for number in batch], self._model["end_id"], 0)
            token_N = np.full(len(batch), self._model["start_id"])
            for position in range(target_NT.shape[1]):
                logp_NV = self._log_softmax(rows.step(token_N))
                token_N = target_NT[:, position]
                logp_N = logp_NV[np.arange(len(batch)), token_N]
                totals[batch] += np.where(position < length_N, logp_N, 0)
        return [float(total) for total in totals]

    def _start(self, sources: Sequence[Tokens]) -> _Rows:
        """Encode the sources: one row for each."""
        source_NS, length_N = _padded(sources, self._model["end_id"], self._model["pad_id"])
        names = list(self._model["encoder"]["outputs"])
        values = self._encoder.run(names, {"source": source_NS, "source_length": length_N})
        of_source = {**dict(zip(names, values, strict=True)), "source_length": length_N}
        return _Rows(self._decoder, list(self._model["decoder"]["outputs"]), of_source, self._model["past"])

    def _log_softmax(self, logits_NV: Array) -> Array:
        logits_NV = logits_NV.astype(np.float64)
        if self._model["generation"]["renormalize"]:
            logits_NV[:, self._model["never"]] = -np.inf
        logits_NV -= logits_NV.max(1, keepdims=True)
        logp_NV: Array = logits_NV - np.log(np.exp(logits_NV).sum(1, keepdims=True))
        return logp_NV


class _Rows:
    """The rows of a batch between two steps. `first` has the shapes of one row's past at the beginning."""

    def __init__(
        self, session: Any, outputs: list[str], of_source: dict[str, Array], first: dict[str, list[int]]
    ) -> None:
        rows = len(of_source["source_length"])
        self._session, self._outputs, self._of_source = session, outputs, of_source
        self._past = {name: np.zeros([rows, *shape[1:]], np.float32) for name, shape in first.items()}
        self._position = 0

    def step(self, token_N: Array) -> Array:
        """Return logits_NV after one more token in each row."""
        inputs = {"token": token_N, "position": np.array(self._position), **self._of_source, **self._past}
        outputs = dict(zip(self._outputs, self._session.run(self._outputs, inputs), strict=True))
        self._past = {name: outputs[name.replace(_PAST, _PRESENT)] for name in self._past}
        self._position += 1
        logits_NV: Array = outputs["logits"]
        return logits_NV

    def select(self, rows: Array) -> None:
        """Continue with these rows, in this order."""
        self._of_source = {name: value[rows] for name, value in self._of_source.items()}
        self._past = {name: value[rows] for name, value in self._past.items()}


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of at most `_ROWS` sentences of similar length, without empty ones."""
    numbers = sorted((n for n, length in enumerate(lengths) if length), key=lambda n: -lengths[n])
    yield from (numbers[first : first + _ROWS] for first in range(0, len(numbers), _ROWS))


def _padded(lines: Sequence[Tokens], end: int, pad: int) -> tuple[Array, Array]:
    """Return the ids of each line with its end, and their number."""
    lengths = [len(line) + 1 for line in lines]
    rows = [[*line, end, *[pad] * (max(lengths) - len(line) - 1)] for line in lines]
    return np.array(rows, np.int64), np.array(lengths, np.int64)
