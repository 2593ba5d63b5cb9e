"""Translate standard input, as the shortest script would. PROGRAM MODEL TYPE BEAM LEAST MOST THREADS."""

import sys
from pathlib import Path


def huggingface(folder: str, dtype: str, beam: int, least: int, most: int, threads: int) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, MarianTokenizer

    torch.set_num_threads(threads)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    lines = [line.strip() for line in sys.stdin]
    with torch.inference_mode():
        ids = model.generate(
            **tokenizer(lines, return_tensors="pt", padding=True),
            num_beams=beam,
            min_new_tokens=least,
            max_new_tokens=most,
        )
    for row in ids:
        text = tokenizer.decode(row, skip_special_tokens=True)
        sys.stdout.write(text.replace("\n", " ") + "\n")


def ctranslate2(folder: str, dtype: str, beam: int, least: int, most: int, threads: int) -> None:
    import ctranslate2
    import sentencepiece

    names = ["sentencepiece.model"] * 2
    if not (Path(folder) / names[0]).exists():
        names = ["source.spm", "target.spm"]
    cutter, joiner = (sentencepiece.SentencePieceProcessor(model_file=f"{folder}/{name}") for name in names)
    translator = ctranslate2.Translator(folder, compute_type=dtype, intra_threads=threads)
    lines = [cutter.encode(line.strip(), out_type=str) for line in sys.stdin]
    for answer in translator.translate_batch(
        lines, beam_size=beam, min_decoding_length=least, max_decoding_length=most
    ):
        sys.stdout.write(joiner.decode(answer.hypotheses[0]) + "\n")


if __name__ == "__main__":
    program, folder, dtype, *numbers = sys.argv[1:]
    translate = {"huggingface": huggingface, "ctranslate2": ctranslate2}[program]
    translate(folder, dtype, *map(int, numbers))
