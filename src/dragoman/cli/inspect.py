"""`dragoman inspect` and `dragoman positions`: show what a model does with a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from dragoman.base.errors import ConfigError
from dragoman.base.machine import require_pytorch
from dragoman.cli.input import STDIN, keep_apart
from dragoman.cli.models import Loading, files_of_models
from dragoman.cli.options import Flag, Flags, Model, Quiet, argument
from dragoman.cli.outcome import tell
from dragoman.text.corpora.lines import one_line, read_lines
from dragoman.translation.folder.checkpoint import run_of
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.inspection import Contrast, Intervention, Trace

Form = Literal["html", "svg", "png", "txt", "json"]
Picture = Literal["html", "svg", "png"]

Output = Annotated[
    Path | None, Flag("Write to this file. [default: text, to the terminal]", flag="--output -o")
]
Format = Annotated[Form | None, Flag("Output format. [default: from the name of the file, or txt]")]


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of a trace that a picture or the text shows."""

    picture: Annotated[
        Literal["attention", "heads", "beam", "positions"] | None,
        Flag("Content of an SVG or PNG. [default: attention]", flag="--view"),
    ] = None
    kind: Annotated[
        Literal["encoder", "decoder", "cross"] | None,
        Flag("Kind of attention to show. [default: cross]", flag="--attention"),
    ] = None
    layer: Annotated[int | None, Flag("Layer to show. [default: the last but one]")] = None
    head: Annotated[int | None, Flag("Head to show. [default: the mean of all]")] = None

    def check(self, form: str) -> None:
        """Raise ConfigError for an option that has no effect."""
        own = {"--attention": self.kind, "--layer": self.layer, "--head": self.head}
        where, used = form, [*own] if form == "txt" else []
        if form in ("svg", "png"):
            picture, where = self.picture or "attention", f"--view {self.picture}"
            used = ["--view", *{"attention": [*own], "heads": ["--attention"]}.get(picture, [])]
        options = {"--view": self.picture, **own}
        for name, value in options.items():
            if value is not None and name not in used:
                raise ConfigError(
                    f"{name} has no effect in {where}", hint="leave it out, or choose another format or view"
                )


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is changed about a run."""

    without: Annotated[
        list[str] | None, Flag("Switch a head off, such as encoder.2.3. May be repeated.", metavar="HEAD")
    ] = None
    force: Annotated[
        list[str] | None,
        Flag("Force a token at a step, such as 3=Hund. May be repeated.", metavar="STEP=TEXT"),
    ] = None
    ban: Annotated[
        list[str] | None,
        Flag("Forbid a token, at a step or everywhere. May be repeated.", metavar="[STEP=]TEXT"),
    ] = None
    shift: Annotated[
        int, Flag("Add K to the position of each source token.", flag="--shift-positions", metavar="K")
    ] = 0
    no_positions: Annotated[bool, Flag("Leave out the positions of the source.")] = False
    length_penalty: Annotated[
        float | None, Flag("Search with another length penalty.", flag="--with-length-penalty", metavar="A")
    ] = None

    def intervention(self) -> Intervention | None:
        """The changes as inspection takes them; None without any."""
        changed = self.without or self.force or self.ban or self.shift or self.no_positions
        if not changed and self.length_penalty is None:
            return None
        from dragoman.inspection import Intervention

        options = {name: getattr(self, name) or () for name in ("without", "force", "ban")}
        return Intervention.of(
            **options, shift=self.shift, no_positions=self.no_positions, length_penalty=self.length_penalty
        )


def inspect(
    model: Model,
    text: Annotated[
        str, argument("TEXT", "A sentence in quotes; - is the first line of standard input. [default: -]")
    ] = STDIN,
    *,
    output: Output = None,
    format: Format = None,
    target: Annotated[str | None, Flag("Inspect this translation instead of the model's own.")] = None,
    compare: Annotated[
        str | None, Flag("Compare with another model or sentence.", metavar="MODEL|TEXT")
    ] = None,
    view: View,
    decoding: Annotated[
        Decoding,
        Flags(
            *("source", "to", "formality", "beam", "length_penalty", "stop", "minimum_length"),
            "no_repeat_ngram",
            section="Search",
        ),
    ],
    prefix: Annotated[str, Flag("Begin the translation with this text.")] = "",
    beside: Annotated[
        str, Flag("What stands before the sentence, for a model that reads it.", flag="--context")
    ] = "",
    loading: Annotated[Loading, Flags("adapter")],
    change: Change,
    quiet: Quiet = False,
) -> None:
    """See how a translation came about, in one offline page: attention, beam search, positions.

    \b
      dragoman inspect runs/en-de "A man rides a bike." -o report.html
      dragoman inspect runs/en-de "A man rides a bike."
      dragoman inspect runs/en-de "A man rides a bike." -o attention.svg --layer 3 --head 2
      dragoman inspect runs/en-de "A man rides a bike." --compare runs/other -o both.html
      dragoman inspect runs/en-de "A man rides a bike." --without encoder.1.2 --ban Mann

    The options from --without to --with-length-penalty change the run. The output then shows the differences
    from the unchanged run.
    """
    form = _format(format, output, get_args(Form), "txt")
    if compare is not None and form not in ("html", "txt"):
        raise ConfigError(
            f"--compare as {form} cannot be used", hint="choose html or txt, or inspect one at a time"
        )
    view.check(form)
    keep_apart(output, files_of_models([model, loading.adapter]))
    if text == STDIN and sys.stdin.isatty():
        print("type a sentence and press Enter", file=sys.stderr)
    sentence = next(read_lines(STDIN), "") if text == STDIN else one_line(text, "the text")
    require_pytorch("inspecting")
    from dragoman.translation.translator import Translator

    intervention = change.intervention()
    if intervention is not None and compare is not None:
        raise ConfigError(
            "--compare together with a changed run", hint="leave out --compare, or what changes the run"
        )

    def look(
        folder: Path, sentence: str, target: str | None, adapter: Path | None = None, **more: Any
    ) -> Any:
        name = " + ".join(path.absolute().name for path in (folder, adapter) if path is not None)
        translator, more = Translator.load(folder, engine="pytorch", adapter=adapter), more | {"name": name}
        return translator.inspect(sentence, decoding, target=target, prefix=prefix, context=beside, **more)

    if intervention is not None:
        both: Contrast = look(model, sentence, target, loading.adapter, intervention=intervention)
        _write(_content_of_both(both, form, view), output, quiet=quiet)
        return
    traces: list[Trace] = [look(model, sentence, target, loading.adapter)]
    if compare is not None:
        # Whatever looks like a path is one, so that a mistyped folder is not taken for a sentence.
        folder = os.path.isdir(run_of(Path(compare))) or (
            any(sep in compare for sep in {os.sep, "/"}) and not any(c.isspace() for c in compare)
        )
        if folder:
            traces.append(look(Path(compare), sentence, target))
        else:
            other = one_line(compare, "--compare")
            traces.append(look(model, other, target if other == sentence else None, loading.adapter))
    _write(_content(traces, form, view), output, quiet=quiet)


def positions(
    width: Annotated[int, Flag("Number of dimensions.")] = 128,
    length: Annotated[int, Flag("Number of positions.")] = 64,
    base: Annotated[float, Flag("Base of the wavelengths; 10000 in the paper.", metavar="N")] = 10000.0,
    halves: Annotated[bool, Flag("Put all sines before all cosines, as in Marian.")] = False,
    output: Annotated[
        Path | None, Flag("Write to this file. [default: SVG, to standard output]", flag="--output -o")
    ] = None,
    format: Annotated[Picture | None, Flag("Output format. [default: from the name of the file]")] = None,
    quiet: Quiet = False,
) -> None:
    """See the sinusoidal positions of "Attention Is All You Need", without a model.

    \b
      dragoman positions -o positions.html
      dragoman positions --width 64 --base 100 -o positions.svg
    """
    form = _format(format, output, get_args(Picture), "svg")
    from dragoman.inspection.positions import laboratory
    from dragoman.inspection.views.pictures import png, positions_svg
    from dragoman.inspection.views.report import report

    lab = laboratory(width, length, base=base, layout="sinusoidal-halves" if halves else "sinusoidal")
    content: str | bytes = report([], lab, base=base) if form == "html" else positions_svg(lab)
    _write(png(str(content)) if form == "png" else content, output, quiet=quiet)


def _content(traces: list[Trace], form: str, view: View) -> str | bytes:
    from dragoman.inspection.views import pictures
    from dragoman.inspection.views.plain import text
    from dragoman.inspection.views.report import report

    match form:
        case "html":
            return report(traces)
        case "txt":
            return "\n".join(text(trace, view.kind, view.layer, view.head) for trace in traces)
        case "json":
            return traces[0].to_json()
    match view.picture:
        case "heads":
            svg = pictures.heads_svg(traces[0], view.kind)
        case "beam":
            svg = pictures.beam_svg(traces[0])
        case "positions":
            svg = pictures.positions_svg(traces[0].positions)
        case _:
            svg = pictures.attention_svg(traces[0], view.kind, view.layer, view.head)
    return pictures.png(svg) if form == "png" else svg


def _content_of_both(both: Contrast, form: str, view: View) -> str | bytes:
    """Return what differs, and the changed run. A picture is of the changed run."""
    if form == "html":
        return both.to_html()
    if form == "json":
        return both.to_json()
    changed = _content([both.changed], form, view)
    return f"{both.summary()}\n{changed}" if isinstance(changed, str) and form == "txt" else changed


def _format(form: str | None, output: Path | None, known: Sequence[str], default: str) -> str:
    """Return the format from --format, or else from the name of the file."""
    if form is None and output is not None:
        form = output.suffix.lstrip(".").lower()
        if form not in known:
            raise ConfigError(
                f"{output}: unknown format", hint=f"name it *.{', *.'.join(known)}, or pass --format"
            )
    if form == "png" and output is None:
        raise ConfigError("PNG on standard output", hint="name a file with -o")
    return form or default


def _write(content: str | bytes, output: Path | None, *, quiet: bool) -> None:
    if output is None:
        print(content if isinstance(content, str) else "", end="")
        return
    from dragoman.base.files import write_whole

    write_whole(output, content)
    tell(f"wrote {output}", quiet=quiet)
