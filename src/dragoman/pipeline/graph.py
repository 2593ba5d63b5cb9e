"""The steps of a pipeline and their order. Imports no torch.

    [[steps]]
    name = "clean"
    run = "data clean {data}/web.en-de.tsv --score {forward} --reverse {backward} --keep 0.8 -o {out}"

`run` is a dragoman command, `shell` any other. `{data}` is the folder of the text, `{here}` that of the file,
`{out}` the step's own result, and another step's name its result, which the step therefore needs.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated

from dragoman.base.config import from_table, read_toml
from dragoman.base.errors import ConfigError
from dragoman.base.files import digest_of_table
from dragoman.base.jobs import digest_of_place
from dragoman.base.options import Option, Options

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# A file of the text or beside the TOML file, up to what ends it in a list or for sh.
_INPUT = re.compile(r"""\{(?:data|here)\}/[^\s"',;|&<>()\]]+""")
_END = re.compile(r"\{(?:data|here)\}/.+")
_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})")
_REFERENCE = re.compile(r"(?<!\$)\{([A-Za-z0-9_-]+)\}")
_PLACES = ("data", "here", "out")
# Commands that resume with a part of their result. The others would meet it, or refuse to write over it.
_RESUMING = ("train", "distil", "ladder", "back-translate", "data", "filter", "bulk")


@dataclass(frozen=True, kw_only=True)
class PipelineStep(Options, section="steps"):
    """One command of a pipeline."""

    name: Annotated[str, Option("Name of the step and of its result.")]
    run: Annotated[str, Option("The words of a command after `dragoman`.")] = ""
    shell: Annotated[str, Option("Any other command, for /bin/sh.")] = ""
    needs: Annotated[tuple[str, ...], Option("More steps that must be done before.")] = ()
    processes: Annotated[int, Option("Processes of torchrun.", at_least=1, at_most=1024)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.name) or self.name in (*_PLACES, "logs", "old", "pipeline"):
            raise ConfigError(
                f"steps: name = {self.name!r} cannot be used",
                hint="use small letters, digits, - and _, but not data, here, out, logs, old or pipeline",
            )
        if "\0" in self.run + self.shell:
            raise ConfigError(f"steps: {self.name}: a command has no NUL character", hint="delete it")
        if bool(self.run) == bool(self.shell):
            raise ConfigError(
                f"steps: {self.name} has {'both' if self.run else 'neither'} run and shell", hint="set one"
            )

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of `run`, references included. Raises ConfigError for an open quote."""
        try:
            return tuple(shlex.split(self.run))
        except ValueError as error:
            raise ConfigError(
                f"steps: {self.name}: {error} in {self.run!r}", hint="close the quote"
            ) from error

    @property
    def trains(self) -> bool:
        """Whether it trains a model, so that its result is a run."""
        return self.words[:1] in (("train",), ("distil",))

    @property
    def resumes(self) -> bool:
        """Whether the command goes on with a part of its result."""
        return self.words[:1] != () and self.words[0] in _RESUMING

    @property
    def references(self) -> set[str]:
        """The names in braces, and those of `needs`."""
        return {*_REFERENCE.findall(self.shell or self.run), *self.needs}


@dataclass(frozen=True, kw_only=True)
class _File(Options, section=""):
    title: Annotated[str, Option("What the pipeline makes.")] = ""
    steps: Annotated[tuple[PipelineStep, ...], Option("The steps, each a table [[steps]].")] = ()


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The steps by name, each after those that it needs, and where they work."""

    title: str
    steps: Mapping[str, PipelineStep]
    folder: Path
    places: Mapping[str, str]

    @classmethod
    def read(cls, path: Path, folder: Path, data: Path | None = None) -> Pipeline:
        """Read a TOML file. Raises ConfigError for unknown names, circles and equal names."""
        found = from_table(_File, read_toml(path))
        if not found.steps:
            raise ConfigError(f"{path}: no steps", hint="write at least one table [[steps]]")
        steps = {step.name: step for step in found.steps}
        if len(steps) < len(found.steps):
            raise ConfigError(f"{path}: two steps have the same name", hint="rename one")
        for step in found.steps:
            for name in sorted(step.references - steps.keys() - set(_PLACES)):
                raise ConfigError(
                    f"{path}: {step.name} needs {{{name}}}, which is no step",
                    hint=f"there are {', '.join(steps)}",
                )
            if "data" in step.references and data is None:
                raise ConfigError(f"{path}: {step.name} needs {{data}}", hint="name its folder with --data")
        needs = {name: step.references & steps.keys() for name, step in steps.items()}
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            raise ConfigError(f"{path}: steps need each other: {circle}", hint="break the circle") from error
        order: dict[str, None] = {}  # that of the file, except that what a step needs comes before it
        while len(order) < len(steps):
            order[next(name for name in steps if name not in order and needs[name] <= order.keys())] = None
        places = {"here": str(path.resolve().parent), **({"data": str(data.resolve())} if data else {})}
        return cls(
            title=found.title, steps={name: steps[name] for name in order}, folder=folder, places=places
        )

    def needs(self, step: PipelineStep) -> list[str]:
        """The steps whose results a step reads."""
        return [name for name in self.steps if name in step.references]

    def alone(self, step: PipelineStep) -> bool:
        """Whether each other step is done before this one, or needs it: it can have all cores."""
        before: dict[str, set[str]] = {}
        for name, one in self.steps.items():
            before[name] = {name}.union(*(before[need] for need in self.needs(one)))
        return all(step.name in before[name] or name in before[step.name] for name in self.steps)

    def result(self, name: str) -> Path:
        """The file or folder that a step makes."""
        return self.folder.resolve() / name

    def filled(self, step: PipelineStep, text: str, *, quoted: bool = False) -> str:
        """Text with places and results in the place of references."""

        def path(match: re.Match[str]) -> str:
            name = step.name if match[1] == "out" else match[1]
            found = self.places.get(name) or str(self.result(name))
            return shlex.quote(found) if quoted else found

        return _REFERENCE.sub(path, text)

    def words(self, step: PipelineStep) -> list[str]:
        """The words of a dragoman command."""
        return [self.filled(step, word) for word in step.words]

    def command(self, step: PipelineStep) -> list[str]:
        """The command of a step, as a process has it."""
        if step.shell:
            return ["/bin/sh", "-ec", self.filled(step, step.shell, quoted=True)]
        many = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(step.processes), "-m"]
        return [sys.executable, "-m", *(many if step.processes > 1 else []), "dragoman", *self.words(step)]

    def by_hand(self, step: PipelineStep) -> str:
        """The command of a step, as a person types it."""
        if step.shell:
            return self.filled(step, step.shell, quoted=True)
        return shlex.join(["dragoman", *self.words(step)])

    def digests(self) -> dict[str, str]:
        """A digest of each step: its command, the files that it reads, and the digests of what it needs."""
        found: dict[str, str] = {}
        for name, step in self.steps.items():
            about = {
                "command": [step.run, step.shell],
                "files": {
                    place: digest_of_place(*paths) for place, paths in self.files(step).items() if paths
                },
                "needs": {one: found[one] for one in self.needs(step)},
            }
            found[name] = digest_of_table(about)
        return found

    def files(self, step: PipelineStep) -> dict[str, list[Path]]:
        """The files and folders of each place that a step names. A variable of the shell matches anything."""
        own, found = self.folder.resolve(), dict[str, list[Path]]()
        for text in step.words or [step.shell]:
            # A word of `run` may end in a file whose name has spaces or commas.
            ends = [end for end in _END.findall(text) if step.run and os.path.exists(self.filled(step, end))]
            for place in ends or _INPUT.findall(text):
                path = self.filled(step, place)
                matching = [path] if os.path.exists(path) else sorted(glob(_VARIABLE.sub("*", path)))
                inside = [folder for one in matching for folder in Path(one).rglob("*/")]
                found[place] = [*map(Path, matching), *sorted(f for f in inside if not f.is_relative_to(own))]
        return found
