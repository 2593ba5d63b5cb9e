"""Translate lines with a model exported to ONNX: python onnx_translate.py FOLDER [TARGET_LANGUAGE] < lines"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

folder = Path(sys.argv[1])
model = json.loads((folder / "model.json").read_text("utf-8"))
encoder, decoder = (onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder"))


def tokenizer(side: str) -> tuple[SentencePieceProcessor, list[str]]:  # and the piece of each id
    path = next(p for p in (folder / f"tokenizer.{side}.spm", folder / "tokenizer.spm") if p.exists())
    spm, vocabulary = SentencePieceProcessor(model_file=str(path)), path.with_suffix(".vocab.json")
    if vocabulary.exists():  # an imported model numbers the pieces itself
        return spm, json.loads(vocabulary.read_text("utf-8"))
    return spm, [spm.id_to_piece(i) for i in range(len(spm))]


def translate(line: str) -> str:
    marks = []  # of languages
    while (found := re.match(">>.+?<<", line)) and found[0] in source_ids:
        marks, line = [*marks, found[0]], line[found.end() :].removeprefix(" ")
    line = line.lower() if model["lowercase"] else line
    pieces = marks + source_spm.encode(line, out_type=str)
    source = [source_ids.get(piece, model["unknown_id"]) for piece in pieces] + [model["end_id"]]
    inputs = {"source": np.array([source]), "source_length": np.array([len(source)])}
    memory = dict(zip(model["encoder"]["outputs"], encoder.run(None, inputs), strict=True))
    fixed = {"source_length": inputs["source_length"], **memory}
    past = {name: np.zeros(shape, np.float32) for name, shape in model["past"].items()}
    target, token = [], model["start_id"]
    while len(target) < len(start) + len(pieces) + 50:
        newest = {"token": np.array([token]), "position": np.array(len(target))}
        logits, *present = decoder.run(None, {**newest, **fixed, **past})
        past = dict(zip(past, present, strict=True))  # its names have the same order
        logits[0, model["never"]] = -np.inf  # padding, for example
        forced = start[len(target) :]
        token = forced[0] if forced else int(logits.argmax())  # greedy search: the likeliest token
        if token == model["end_id"]:
            break
        target.append(token)
    return target_spm.decode([target_pieces[token] for token in target[len(start) :]])


(source_spm, source_pieces), (target_spm, target_pieces) = tokenizer("source"), tokenizer("target")
source_ids = {piece: i for i, piece in enumerate(source_pieces)}
start = model.get("target_start", {}).get("".join(sys.argv[2:]), [])  # the mark of the target language
for line in sys.stdin:
    sys.stdout.write(translate(line.strip()) + "\n" if line.strip() else "\n")
