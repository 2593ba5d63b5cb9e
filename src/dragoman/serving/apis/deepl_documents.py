"""The routes for documents that clients of DeepL call: upload, ask, download."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.deepl import ask_for_file
from dragoman.serving.apis.documents import document_of, file_answer, suffix_of, upload_format
from dragoman.serving.apis.endpoints import Endpoint, Incoming
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Upload
from dragoman.serving.http.jobs import FileJob
from dragoman.serving.http.schemas import COUNT, KEYS, TEXT, enum, optional, structure


async def upload(call: Incoming) -> Response:
    fields = call.fields
    sent = fields.file("file")
    file = Upload(fields.text("filename") or sent.name, sent.data)
    ask = ask_for_file(fields)
    if ask.source is not None:
        call.service.pairs.find(ask.source, ask.target)  # raise what can be raised now
    suffix = suffix_of(file, upload_format(call, file))
    wanted = fields.text("output_format")
    if wanted and f".{wanted.lower()}" != suffix:
        raise Refusal(400, "Value for 'output_format' not supported: it is that of the file")
    job = call.desk.jobs.add(document_of(call, file, ask))
    return JSONResponse({"document_id": job.number, "document_key": job.key})


async def status(call: Incoming) -> Response:
    job = _job(call)
    answer: dict[str, str | int] = {"document_id": job.number, "status": job.state}
    if job.state == "done":
        answer |= {"seconds_remaining": 0, "billed_characters": job.characters}
    if job.state == "error":
        answer["error_message"] = job.error
    return JSONResponse(answer)


async def result(call: Incoming) -> Response:
    return file_answer(*call.desk.jobs.fetch(_job(call)))


def _job(call: Incoming) -> FileJob:
    return call.desk.jobs.find(call.request.path_params["number"], call.fields.needed("document_key"))


_KEY = {"document_key": {"type": "string", "minLength": 1}, **KEYS}

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v2/document",
        answer=upload,
        family="deepl",
        summary="Upload a document to translate.",
        fields={
            "file": {"type": "string", "format": "binary"},
            "target_lang": {"type": "string", "minLength": 1},
            "source_lang": optional(TEXT),
            "filename": optional(TEXT),
            "output_format": optional(TEXT),
            "formality": optional(enum("default", "prefer_more", "prefer_less")),
            "glossary_id": optional(TEXT),
            **KEYS,
        },
        required=("file", "target_lang"),
        bodies=("multipart",),
        returns=structure({"document_id": TEXT, "document_key": TEXT}),
        refuses=(400, 403, 413, 415, 429, 503),
        works=True,
        uploads=True,
    ),
    Endpoint(
        method="POST",
        path="/v2/document/{number}",
        answer=status,
        family="deepl",
        summary="How the translation of a document is getting on.",
        fields=_KEY,
        required=("document_key",),
        bodies=("json", "form"),
        returns=structure(
            {
                "document_id": TEXT,
                "status": enum("translating", "done", "error"),
                "seconds_remaining": COUNT,
                "billed_characters": COUNT,
                "error_message": TEXT,
            },
            required=("document_id", "status"),
        ),
        refuses=(400, 403, 404, 413, 415),
    ),
    Endpoint(
        method="POST",
        path="/v2/document/{number}/result",
        answer=result,
        family="deepl",
        summary="Fetch a translated document, once.",
        fields=_KEY,
        required=("document_key",),
        bodies=("json", "form"),
        content="application/octet-stream",
        refuses=(400, 403, 404, 413, 415, 503),
    ),
)
