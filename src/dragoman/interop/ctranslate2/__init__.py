"""CTranslate2, an inference engine in C++ for production: out.

A folder gets

    model.bin, config.json        weights and configuration
    shared_vocabulary.json        the pieces by id; source_vocabulary.json and target_vocabulary.json if
                                  the sides differ
    sentencepiece.model           the tokenizer; source.spm and target.spm if the sides differ
    tokenizer.json ...            the tokenizer of a model of words, as in a model folder

Tokens that a search never generates (padding, start, `Beam.banned`) get no probability, by an output bias,
because programs that run CTranslate2 do not know them and could generate them. So scores are as with
`Beam.renormalize`.

config.json has a key "dragoman", which CTranslate2 ignores: the type of the weights, and the language whose
punctuation the tokenizer of an imported model normalises first.
"""

from dragoman.interop.ctranslate2.model import QUANTIZATIONS, notes, unsupported, write
from dragoman.interop.ctranslate2.program import CTranslate2 as Program
from dragoman.interop.ctranslate2.program import verify

__all__ = ["QUANTIZATIONS", "Program", "notes", "unsupported", "verify", "write"]
