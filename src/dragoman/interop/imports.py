"""Models of other programs become model folders of ours, compared with the original as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.base.files import new_folder
from dragoman.interop.formats import Converted, format_of
from dragoman.interop.source import opened
from dragoman.translation.folder.card import origin, write_card


def import_model(
    source: str,
    output: Path,
    *,
    verified: bool = True,
    lines: Sequence[str] = (),
    revision: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Converted:
    """Convert the model at `source` into the new folder `output`.

    `source` is a folder, an archive or a name on the hub. With `verified`, both programs translate `lines`,
    or some of our own, if the other one is installed. The folder appears only if they agree. The languages
    replace the ones in the model. Raises ModelError if the model cannot be converted, DragomanError if
    the programs disagree.
    """
    with new_folder(output) as part, opened(source, revision=revision) as folder:
        form = format_of(folder)
        if form is None:
            raise ModelError(
                f"{source}: {_what_it_is(folder)}",
                hint="an import reads Hugging Face's Marian models (config.json, model.safetensors, "
                "source.spm, vocab.json), M2M-100, NLLB and mBART-50 (sentencepiece.bpe.model), Marian's own "
                "(an .npz, vocabularies, decoder.yml) and Firefox's (model.*.bin, vocab.*.spm)",
            )
        bundle = form.read(folder)
        bundle = replace(
            bundle,
            source_language=source_language or bundle.source_language,
            target_language=target_language or bundle.target_language,
        )
        unverified = form.missing if verified else "--no-verify"
        comparison = None if unverified else form.verify(bundle, folder, lines)
        form.save(bundle, folder, part)
        write_card(
            part, origin(source, program=form.program, verified=str(comparison) if comparison else None)
        )
    return Converted(bundle=bundle, program=form.program, comparison=comparison, unverified=unverified)


def _what_it_is(folder: Path) -> str:
    if (folder / "tokenizer.json").exists() and (folder / "generation.json").exists():
        return "already a model of dragoman"
    if (folder / "model.bin").exists():
        return "a model of CTranslate2, which cannot be converted back"
    return "not a model that dragoman knows"
