"""Translate standard input with transformers: the shortest script. MODEL TYPE BEAM LEAST MOST THREADS."""

import sys

import torch
from transformers import AutoModelForSeq2SeqLM, MarianTokenizer


def main() -> None:
    folder, dtype, beam, least, most, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    tokenizer = MarianTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    lines = [line.strip() for line in sys.stdin]
    with torch.inference_mode():
        ids = model.generate(
            **tokenizer(lines, return_tensors="pt", padding=True),
            num_beams=int(beam),
            min_new_tokens=int(least),
            max_new_tokens=int(most),
        )
    for row in ids:
        text = tokenizer.decode(row, skip_special_tokens=True)
        sys.stdout.write(text.replace("\n", " ") + "\n")


if __name__ == "__main__":
    main()
