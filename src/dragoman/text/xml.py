"""XML of strangers: a parser that refuses entities and fetches nothing, and the characters XML can hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.parsers import expat

from dragoman.base.errors import DataError

# https://www.w3.org/TR/xml/#charsets
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def forbidden(text: str) -> str:
    """The first character that XML 1.0 cannot hold, or ""."""
    found = FORBIDDEN.search(text)
    return found[0] if found else ""


def escape(text: str) -> str:
    """Encode a text between tags. A carriage return would else be read as a line end."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def escape_attribute(text: str) -> str:
    """Encode a text between double quotes, whose line ends a parser would make spaces."""
    return escape(text).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")


def safe_parser(
    refuse: Callable[[str], Exception], encoding: str | None = None, separator: str | None = None
) -> expat.XMLParserType:
    """Return a parser that raises `refuse(reason)` where a file declares or uses an entity."""
    parser = expat.ParserCreate(encoding, separator)

    def declared(*_: object) -> int:
        raise refuse("an entity is declared")

    def unknown(name: str, *_: object) -> None:
        raise refuse(f"the entity &{name}; is not known")

    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = declared
    parser.SkippedEntityHandler = unknown
    return parser


class SafeReader:
    """Reads XML with the handlers `_start`, `_end` and `_characters` of a subclass. Errors name the file."""

    def __init__(self, name: str, hint: str, separator: str | None = None) -> None:
        self.name, self._hint = name, hint
        self.parser = safe_parser(self._refuse, separator=separator)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _start(self, tag: str, attributes: dict[str, str]) -> None: ...

    def _end(self, tag: str) -> None: ...

    def _characters(self, text: str) -> None: ...

    def problem(self, what: str, hint: str = "") -> DataError:
        """An error at the line that is being read."""
        return DataError(f"{self.name}:{self.parser.CurrentLineNumber}: {what}", hint=hint or self._hint)

    def _refuse(self, _: str) -> DataError:
        return self.problem("declares or uses an entity, which is refused", hint="write the character itself")

    def feed(self, data: bytes, *, final: bool) -> None:
        """Read on. Raises DataError for what is not well-formed, and for encodings that are not known."""
        try:
            self.parser.Parse(data, final)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise DataError(
                f"{self.name}:{error.lineno}: not valid XML ({reason})", hint=self._hint
            ) from error
        except (ValueError, LookupError) as error:  # encodings that expat or Python does not know
            raise DataError(
                f"{self.name}: {error}", hint="convert it to UTF-8, also in its first line"
            ) from error
