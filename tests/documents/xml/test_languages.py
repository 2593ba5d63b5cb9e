from __future__ import annotations

import pytest

from dragoman.base.errors import DataError
from dragoman.documents.xml.languages import expect


def test_expect() -> None:
    expect(1, "trgLang", "de-AT", "de")
    expect(1, "trgLang", "", "de")
    expect(1, "trgLang", "de", "")
    with pytest.raises(DataError, match="line 3: trgLang is 'fr', not 'de'"):
        expect(3, "trgLang", "fr", "de")
