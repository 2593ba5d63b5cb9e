"""All rows."""

from tests.cli.nasty import documents, lines, parallel

ROWS = [*lines.ROWS, *parallel.ROWS, *documents.ROWS]
