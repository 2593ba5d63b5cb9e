"""All rows."""

from tests.cli.nasty import documents, lines, memories, options, parallel, synthetic

ROWS = [*lines.ROWS, *parallel.ROWS, *documents.ROWS, *memories.ROWS, *options.ROWS, *synthetic.ROWS]
