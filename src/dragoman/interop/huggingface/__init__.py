"""Models of Hugging Face's `MarianMTModel`, such as OPUS-MT: in and out; M2M-100, NLLB-200, mBART-50: in.

The code of transformers is read, not run: importing and exporting need PyTorch alone. `Program` runs
transformers, to compare.
"""

from dragoman.interop.huggingface.model import read, unsupported, write
from dragoman.interop.huggingface.program import Transformers as Program
from dragoman.interop.huggingface.program import verify
from dragoman.interop.huggingface.settings import notes

__all__ = ["Program", "notes", "read", "unsupported", "verify", "write"]
