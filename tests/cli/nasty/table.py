"""All rows."""

from tests.cli.nasty import documents, lines, memories, options, parallel

ROWS = [*lines.ROWS, *parallel.ROWS, *documents.ROWS, *memories.ROWS, *options.ROWS]
