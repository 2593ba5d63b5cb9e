"""`dragoman data`: see parallel text, clean it and divide it; find pairs in documents."""

from dragoman.cli.data.clean import clean_text
from dragoman.cli.data.duplicates import dedupe, leak, split_text
from dragoman.cli.data.look import look
from dragoman.cli.data.pairs import pairs_from_documents
from dragoman.cli.options import Commands
from dragoman.cli.train.train import TrainCommand

data = Commands(
    help="See parallel text, clean it and divide it; find pairs in documents.", no_args_is_help=True
)
data.command("look", short_help="See what is in text, and what filters would drop.")(look)
data.command("clean", short_help="Repair pairs of text, and drop bad ones, by rules.")(clean_text)
data.command("pairs", short_help="Find the sentence pairs of documents.")(pairs_from_documents)
data.command("dedupe", short_help="Leave out pairs that are equal or alike, but for one.")(dedupe)
data.command("leak", cls=TrainCommand, short_help="Find test text in training text.")(leak)
data.command("split", short_help="Divide text into training, validation and test text.")(split_text)
