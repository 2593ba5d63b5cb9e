"""The course as one HTML file: its texts, its model, the engine in WebAssembly and the recorded runs."""

from __future__ import annotations

from html import escape

from dragoman.base.html.document import bundled, deflated, document, inert, page_styles
from dragoman.course import MODEL, recorded_runs
from dragoman.course.texts import CHAPTERS, chapter, labels
from dragoman.translation.native.web.wasm import engine_wasm


def course_page(language: str = "en") -> str:
    """Return the course in a language. Raises ConfigError for an unknown one, or without engine.wasm."""
    words = labels(language)
    texts = [chapter(name, language) for name in ("index", *CHAPTERS)]
    sections = "".join(
        f'<article id="{one.name}" data-title="{escape(one.title)}" hidden>{one.html}</article>\n'
        for one in texts
    )
    files = {path.name: path.read_bytes() for path in sorted(MODEL.iterdir())}
    data = {
        "labels": inert(words),
        "recorded": inert(recorded_runs()),
        "files": inert({name: f"file-{i}" for i, name in enumerate(files)}),
        **{f"file-{i}": deflated(content) for i, content in enumerate(files.values())},
        "engine": deflated(engine_wasm().read_bytes()),
    }
    return document(
        title=words["title"],
        body=f'<noscript>{words["noscript"]}</noscript><main id="course">{sections}</main>',
        script=bundled("course/web/course.js"),
        styles=page_styles("course/web/style.css"),
        data=data,
        engine=True,
        language=language,
    )
