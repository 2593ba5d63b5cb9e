"""`dragoman doctor`: check whether this machine can train and translate."""

from __future__ import annotations

import json

import typer

from dragoman.cli.options import Json


def doctor(as_json: Json = False) -> None:
    """Check this machine: Python, native engine, torch, cores, bf16, memory and GPU. Suggest changes.

    Exits with 1 if a problem stops dragoman from working.

    \b
      dragoman doctor
      dragoman doctor --json
    """
    from dragoman.bench.doctor import examine, to_table, to_text

    findings = examine()
    if as_json:
        print(json.dumps(to_table(findings), ensure_ascii=False, indent=2))
    else:
        print(to_text(findings))
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)
