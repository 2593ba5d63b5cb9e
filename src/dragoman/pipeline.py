"""The interface of the translation pipeline that transformers 5 removed, for programs written against it.

pipe = Translator.load("opus-mt-en-de").pipeline()
pipe("A man rides a bike.")  # [{"translation_text": "Ein Mann fährt Rad."}]

The options have the names and meanings of transformers 4 (`TranslationPipeline` and `generate`). What has no
counterpart here is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from dragoman.base.errors import ConfigError
from dragoman.base.pytorch import require_pytorch
from dragoman.decoding.engine import Engine, Hypothesis, Request
from dragoman.decoding.options import Beam, Decoding, Stop
from dragoman.decoding.rules import MinimumLength, NoRepeatedNgram, Rule, keeping
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

_TRUNCATED = 511  # tokens that `truncation` leaves of a source; with the end, the 512 of OPUS-MT models

_STOPS: dict[bool | str, Stop] = {True: "full", False: "patient", "never": "exact"}  # of early_stopping


class PipelineOptions(TypedDict, total=False):
    """The options of a `Pipeline`. None leaves an option at its default.

    Of those that limit lengths, `max_length` and `min_length` count the start and the end token of the
    translation, `max_new_tokens` the end token.
    """

    num_beams: int | None
    num_return_sequences: int | None
    length_penalty: float | None  # the exponent of the length, whatever formula the model folder has
    early_stopping: bool | Literal["never"] | None
    max_length: int | None
    max_new_tokens: int | None
    min_length: int | None
    no_repeat_ngram_size: int | None
    src_lang: str | None  # no effect: a model knows its source language
    tgt_lang: str | None
    truncation: bool | str | None
    return_tensors: bool | None
    return_text: bool | None  # no effect, as in transformers 4
    clean_up_tokenization_spaces: bool | None
    do_sample: bool | None
    batch_size: int | None  # no effect on results, and here none on speed
    num_workers: int | None  # no effect


class PipelineResult(TypedDict, total=False):
    """One translation: its text, or its tokens if `return_tensors` is true."""

    translation_text: str
    translation_token_ids: Tensor  # start, tokens, end


class Pipeline:
    """Texts in, a list of dictionaries out, as `TranslationPipeline` of transformers 4 answered."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        generation: Beam,
        *,
        target_language: str,
        options: PipelineOptions | None = None,
    ) -> None:
        """`options` are the defaults of every call. Raises ConfigError if one of them is not supported."""
        self._tokenizer, self._engine, self._generation = tokenizer, engine, generation
        self._target_language = target_language
        self._defaults: PipelineOptions = options or {}
        self._checked(self._defaults)

    @overload
    def __call__(self, texts: str, **options: Unpack[PipelineOptions]) -> list[PipelineResult]: ...
    @overload
    def __call__(
        self, texts: Iterator[str], **options: Unpack[PipelineOptions]
    ) -> Iterator[list[PipelineResult]]: ...
    @overload
    def __call__(
        self, texts: Sequence[str], **options: Unpack[PipelineOptions]
    ) -> list[PipelineResult] | list[list[PipelineResult]]: ...
    def __call__(
        self, texts: str | Sequence[str] | Iterator[str], **options: Unpack[PipelineOptions]
    ) -> list[PipelineResult] | list[list[PipelineResult]] | Iterator[list[PipelineResult]]:
        """Return the translations of one text or of several.

        One text gives a list of `num_return_sequences` results. A list of texts gives a list with one
        result for each; if a text has several results, a list of lists. A generator gives a generator of
        lists. Raises ConfigError for an option that is not supported or has a wrong value.
        """
        chosen = self._checked({**self._defaults, **options})
        if isinstance(texts, str):
            return self._translate([texts], chosen)[0]
        if isinstance(texts, GeneratorType):
            return (self._translate([text], chosen)[0] for text in texts)
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise TypeError("a text or a list of texts is needed")
        results = self._translate(texts, chosen)
        return [each[0] for each in results] if all(len(each) == 1 for each in results) else results

    def _translate(self, texts: Sequence[str], chosen: Mapping[str, Any]) -> list[list[PipelineResult]]:
        how, rules = self._beam(chosen), _rules(chosen)
        sources = self._tokenizer.encode_source([self._spoken_to(text.strip(), chosen) for text in texts])
        longest = _TRUNCATED if _truncates(chosen) else Decoding().max_source_tokens
        requests = (
            Request(
                source=source[:longest],
                how=how,
                max_tokens=_limit(len(source[:longest]), chosen),
                rules=rules + keeping(source[:longest], self._tokenizer.placeholders),
            )
            for source in sources
        )
        found = dict(self._engine.search(requests))
        return [[self._result(each, chosen) for each in found[number]] for number in range(len(texts))]

    def _result(self, hypothesis: Hypothesis, chosen: Mapping[str, Any]) -> PipelineResult:
        if chosen.get("return_tensors"):
            import torch

            ids = [self._tokenizer.start_id, *hypothesis.tokens, self._tokenizer.end_id]
            return {"translation_token_ids": torch.tensor(ids)}
        text = self._tokenizer.decode(hypothesis.tokens)
        return {"translation_text": text.replace("\r", " ").replace("\n", " ")}  # as `Translator` does

    def _beam(self, chosen: Mapping[str, Any]) -> Beam:
        how, count = self._generation, chosen.get("num_return_sequences", 1)
        how = replace(how, size=chosen.get("num_beams", max(how.size, count)), n_best=count)
        if "length_penalty" in chosen:
            how = replace(how, length_penalty=chosen["length_penalty"], normalization="power")
        if "early_stopping" in chosen:
            how = replace(how, stop=_STOPS[chosen["early_stopping"]])
        return how

    def _spoken_to(self, text: str, chosen: Mapping[str, Any]) -> str:
        """Return the text, begun with the token of the target language if one is chosen."""
        if text and self._tokenizer.languages and "tgt_lang" in chosen:
            return f">>{chosen['tgt_lang']}<< {text}"
        return text

    def _checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that are not None. Raises ConfigError for those that do not fit."""
        known = PipelineOptions.__annotations__
        if unknown := sorted(options.keys() - known.keys()):
            raise ConfigError(
                f"the pipeline does not support {', '.join(unknown)}", hint=f"it supports {', '.join(known)}"
            )
        chosen = {name: value for name, value in options.items() if value is not None}
        for name in ("clean_up_tokenization_spaces", "do_sample"):
            if chosen.get(name):
                raise ConfigError(f"the pipeline does not support {name}=True", hint=_INSTEAD[name])
        if "max_length" in chosen and "max_new_tokens" in chosen:
            raise ConfigError("max_length and max_new_tokens", hint="leave out one of them")
        for name, least in _LEAST.items():
            value = chosen.get(name, least)
            if type(value) is not int or value < least:
                raise ConfigError(f"{name} = {value!r}", hint=f"use a whole number, at least {least}")
        early = chosen.get("early_stopping", False)
        if not isinstance(early, bool) and early != "never":
            raise ConfigError(f"early_stopping = {early!r}", hint='use True, False or "never"')
        if chosen.get("return_tensors"):
            require_pytorch("return_tensors")
        _truncates(chosen)
        self._check_language(chosen)
        self._beam(chosen)
        return chosen

    def _check_language(self, chosen: Mapping[str, Any]) -> None:
        """Raises ConfigError for a target language that the model does not have."""
        languages = self._tokenizer.languages or (self._target_language,)
        if (wanted := chosen.get("tgt_lang", languages[0])) not in languages:
            raise ConfigError(f"tgt_lang = {wanted!r}", hint=f"this model has {', '.join(languages)}")


_LEAST = {
    "num_beams": 1, "num_return_sequences": 1, "max_length": 2, "max_new_tokens": 1, "min_length": 0,
    "no_repeat_ngram_size": 0,
}  # fmt: skip
_INSTEAD = {
    "clean_up_tokenization_spaces": "translations have no spaces to clean up",
    "do_sample": "use translator.translate(lines, sample=Sample(...))",
}


def _truncates(chosen: Mapping[str, Any]) -> bool:
    match chosen.get("truncation", False):
        case False | "do_not_truncate":
            return False
        case True | "longest_first" | "only_first":
            return True
        case other:
            raise ConfigError(f"truncation = {other!r}", hint="use True or False")


def _limit(source: int, chosen: Mapping[str, Any]) -> int:
    """Return the most tokens of a translation, without start and end."""
    if "max_new_tokens" in chosen:
        return int(chosen["max_new_tokens"]) - 1
    if "max_length" in chosen:
        return int(chosen["max_length"]) - 2
    return source + Decoding().max_extra_tokens


def _rules(chosen: Mapping[str, Any]) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    if chosen.get("min_length", 0) > 1:
        rules.append(MinimumLength(chosen["min_length"] - 1))
    if chosen.get("no_repeat_ngram_size"):
        rules.append(NoRepeatedNgram(chosen["no_repeat_ngram_size"]))
    return tuple(rules)
