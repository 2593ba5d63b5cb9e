"""`dragoman data`: see parallel text, clean it, divide it, and find pairs."""

from dragoman.cli.data.pairs import pairs_from_documents
from dragoman.cli.options import Commands

data = Commands(
    help="See parallel text, clean it and divide it; find pairs in documents.", no_args_is_help=True
)
data.command("pairs", short_help="Find the sentence pairs of documents.")(pairs_from_documents)
data.callback()(lambda: None)
