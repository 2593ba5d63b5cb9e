"""Translate standard input with CTranslate2: the shortest script. MODEL TYPE BEAM LEAST MOST THREADS."""

import sys
from pathlib import Path

import ctranslate2
import sentencepiece


def main() -> None:
    folder, dtype, beam, least, most, threads = sys.argv[1:]
    names = ["sentencepiece.model"] * 2
    if not (Path(folder) / names[0]).exists():
        names = ["source.spm", "target.spm"]
    cutter, joiner = (sentencepiece.SentencePieceProcessor(model_file=f"{folder}/{name}") for name in names)
    translator = ctranslate2.Translator(folder, compute_type=dtype, intra_threads=int(threads))
    lines = [cutter.encode(line.strip(), out_type=str) for line in sys.stdin]
    for answer in translator.translate_batch(
        lines, beam_size=int(beam), min_decoding_length=int(least), max_decoding_length=int(most)
    ):
        sys.stdout.write(joiner.decode(answer.hypotheses[0]) + "\n")


if __name__ == "__main__":
    main()
