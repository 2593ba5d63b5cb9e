"""Documents of clients: an upload in, the translated file out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path, PurePath

from starlette.responses import Response, StreamingResponse

from dragoman.base.errors import DataError
from dragoman.documents.formats import Format, document_format
from dragoman.documents.refused import REFUSED
from dragoman.serving.apis.endpoints import Call
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Upload
from dragoman.serving.service.ask import Ask, TranslatedDocument
from dragoman.serving.service.limits import MARKS

_PIECE = 64 * 2**10  # bytes
_MARKS = b"<[{*_`\r\n"


async def document_of(call: Call, upload: Upload, ask: Ask) -> tuple[TranslatedDocument, str]:
    """Return a translated document and the suffix of its name. Raises Refusal and errors of the service."""
    format = upload_format(call, upload)
    deadline = time.monotonic() + call.service.limits.file_seconds
    with call.state.holding(call.service), call.using() as use:  # the call may have been answered
        document = await call.service.translate_document(
            upload.data, format, ask, client=call.client, deadline=deadline, use=use
        )
    return document, suffix_of(upload, format)


def upload_format(call: Call, upload: Upload) -> Format:
    """The format of an upload, by its name or else by its content. Raises Refusal for an unknown one."""
    most = call.service.limits.file_bytes
    if not upload.data:
        raise Refusal(400, "Invalid request: empty file", field="file")
    if len(upload.data) > most:
        raise Refusal(413, f"File is too large: at most {most:,} bytes are allowed", field="file")
    name = Path(f"file{_named(upload)}")  # which is never opened
    try:
        format = document_format(name, upload.data)
    except DataError as error:
        what = f": {REFUSED[name.suffix]}" if name.suffix in REFUSED else ""
        raise Refusal(400, f"This file format is not supported{what}", field="file") from error
    # Those of a zipped file are counted when it is read.
    if not format.is_zipped and len(upload.data) - len(upload.data.translate(None, _MARKS)) > MARKS:
        raise Refusal(413, f"File has more than {MARKS:,} lines or tags: divide it", field="file")
    return format


def suffix_of(upload: Upload, format: Format) -> str:
    """The suffix of the client's file if it is one of the format's, else the usual one."""
    suffix = _named(upload)
    return suffix if suffix in format.suffixes else format.suffixes[0]


def file_answer(data: bytes, suffix: str) -> Response:
    """A file to save, in pieces, so that a slow client does not fill the memory twice."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]

    headers = {
        "Content-Disposition": "attachment",  # without a name, the one that a page gives it counts
        "Content-Length": str(len(data)),
        "Cache-Control": "no-store",
    }
    return StreamingResponse(pieces(), headers=headers, media_type="application/octet-stream")


def _named(upload: Upload) -> str:
    return PurePath(upload.name[-100:]).suffix.lower()
