"""Formats that are not read, by the suffix of a file: what it is, and what to do."""

from __future__ import annotations

_MARKUP = "convert it to HTML or Markdown, with pandoc for instance"
_EXTRACT = "move its texts to a file of messages, such as PO, and translate that"
_KINDS = (  # suffixes, name, hint; no suffix that is also a language, such as .pl
    (".pdf", "a PDF file", "convert it to .docx first"),
    (".doc .dot .xls .xlt .xlsb .ppt .pps .wpd .rtf", "an old Office file", "save it as .docx, .xlsx, .pptx"),
    (".pages .numbers .key", "a document of Apple iWork", "export it as .docx, .xlsx or .pptx"),
    (".vsd .vsdx .pub .mpp .xps .djvu", "a document of another program", "save its text as .docx"),
    (".idml .indd .mif .qxp", "InDesign, FrameMaker or QuarkXPress", "export XLIFF from a translation tool"),
    (".mobi .azw .azw3 .kfx .fb2", "an electronic book", "convert it to .epub first"),
    (".psd .xcf .sketch .fig .dwg .dxf .svg .eps", "a drawing", "export its texts from its program"),
    (".png .jpg .jpeg .gif .bmp .tif .tiff .webp .heic .ico", "an image", "recognise its text first"),
    (".mp3 .wav .ogg .flac .m4a .mp4 .mkv .mov .avi .webm", "sound or video", "translate its subtitles"),
    (".ass .ssa .sub .sbv .ttml .dfxp .stl .lrc", "other subtitles", "convert them to .srt first"),
    (".zip .tar .tgz .7z .rar", "an archive", "unpack it first"),
    (".gz .bz2 .xz .zst", "a compressed file", "decompress it first"),
    (".sdlppx .sdlrpx .ttx .mqxlz .mqout .mqback .txml .tipp .xlz", "a package", "export XLIFF first"),
    (".sdltm .mtf .tmw", "a translation memory of another program", "export it as .tmx"),
    (".gmo .qm", "compiled messages", "translate the .po or .ts file that it was made of"),
    (".resources .dll .exe .dylib .nib .class .pyc", "a compiled program", _EXTRACT),
    (".bplist", "a binary property list", "convert it with plutil -convert xml1"),
    (".ini .toml .desktop", "INI or TOML", "move its texts to .properties or .po"),
    (".ftl", "Fluent", "convert it to .po first"),
    (".dtd .lang .wxl .resjson .rc .vdf .nsh", "other strings", "convert them to .po or XLIFF"),
    (".adoc .asciidoc", "AsciiDoc", "convert it to HTML, or to PO with po4a"),
    (".tex .latex .org .textile .wiki .mediawiki .creole .typ .pod .texi", "other markup", _MARKUP),
    (".dita .ditamap .dbk .docbook", "DITA or DocBook", "convert it to XLIFF or PO first"),
    (".ipynb", "a notebook", "convert it to Markdown first"),
    (".eml .msg .mbox .ics .vcf", "mail, a calendar or contacts", "save its text as HTML or .txt"),
    (".jsonl .ndjson .parquet", "a table of texts", "use dragoman bulk"),
    (".sql .sqlite .db .mdb .accdb .dbf", "a database", "export its texts as .csv"),
    (".twig .jinja .jinja2 .j2 .liquid .njk .mustache", "a template", "name it .html if it is HTML"),
    (".php .py .js .jsx .tsx .java .rb .kt .swift .svelte .pug .haml .graphql .rpy", "a program", _EXTRACT),
)
REFUSED = {suffix: f"{name}: {hint}" for suffixes, name, hint in _KINDS for suffix in suffixes.split()}
