"""The index finds the best match of all, or nearly always."""

from __future__ import annotations

import random
import sqlite3

import pytest

from dragoman.text import toy
from dragoman.translation.memory import fuzzy_search
from dragoman.translation.memory.similarity import likeness

WORDS = {
    "en": "the a of and file open close save window button page print table cell row column text select all "
    "options dialog click choose name new delete insert format view tools help color font size border image "
    "document object chart data value number field record query form report macro style list item menu key",
    "zh": "的 一 是 在 文件 打开 关闭 保存 窗口 按钮 页面 打印 表格 单元格 行 列 文本 "
    "选择 全部 选项 对话框 单击 "
    "名称 新建 删除 插入 格式 视图 工具 帮助 颜色 字体 大小 边框 图像 文档 对象 图表 数据 数值",
}


def connection_of(segments: list[str], portions: int = 1) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE postings (id INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT")
    numbered = list(enumerate(segments))
    size = -(-len(numbered) // portions)
    for start in range(0, len(numbered), size):
        fuzzy_search.add(connection, numbered[start : start + size])
    return connection


def sentence(random_: random.Random, language: str) -> str:
    words = WORDS[language].split()
    weights = [1 / (place + 2) for place in range(len(words))]
    chosen = random_.choices(words, weights, k=random_.randint(2, 12))
    return ("" if language == "zh" else " ").join(chosen).capitalize() + random_.choice([".", "", "?"])


def changed(random_: random.Random, text: str) -> str:
    """The text with a word or some letters replaced, dropped or added."""
    units = text.split(" ") if " " in text else list(text)
    for _ in range(random_.randint(1, 2)):
        place = random_.randrange(len(units))
        units[place : place + random_.randint(0, 1)] = random_.choice([[], ["new"], [units[place][::-1]]])
        units = units or ["x"]
    return (" " if " " in text else "").join(units)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_best_match_is_found_for_99_percent(language: str) -> None:
    random_ = random.Random(7)
    segments = list(dict.fromkeys(sentence(random_, language) for _ in range(1500)))
    connection = connection_of(segments)
    found = expected = 0
    for _ in range(200):
        query = changed(random_, random_.choice(segments))
        best = max(likeness(query, one) for one in segments)
        if best < 70:
            continue
        expected += 1
        numbers = fuzzy_search.candidates(connection, query)
        found += max((likeness(query, segments[number]) for number in numbers), default=0) >= best
    assert expected > 80
    assert found >= 0.99 * expected


def test_short_sentences_of_a_small_language_are_found() -> None:
    segments = list(dict.fromkeys(pair[0] for pair in toy.pairs(seed=3, count=800)))
    connection = connection_of(segments)
    queries = [pair[0] for pair in toy.pairs(seed=4, count=150)]
    missed = 0
    for query in queries:
        best = max(likeness(query, one) for one in segments)
        numbers = fuzzy_search.candidates(connection, query)
        found = max((likeness(query, segments[number]) for number in numbers), default=0)
        missed += best >= 70 and found < best
    assert missed <= 1


def test_portions_give_the_same_lists() -> None:
    segments = ["The same old file." for _ in range(3000)]
    rows = [
        connection_of(segments, portions).execute("SELECT id, ids FROM postings ORDER BY id").fetchall()
        for portions in (1, 7, 3000)
    ]
    assert rows[0] == rows[1] == rows[2]
    assert max(len(ids) for _, ids in rows[0]) == 4 * 1024
    assert sum(len(ids) for _, ids in rows[0]) == 4 * 3000 * 7  # 4 words and 3 pairs


def test_a_search_looks_at_a_bounded_number_of_segments() -> None:
    segments = [f"the of and number {number}" for number in range(6000)]
    connection = connection_of(segments)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    numbers = fuzzy_search.candidates(connection, "the of and number 77")
    assert numbers[0] == 77
    assert len(numbers) == 100
    assert sum(statement.startswith("SELECT ids") for statement in statements) <= 3


def test_ids_are_little_endian() -> None:
    connection = connection_of(["dog"] * 3)
    ((ids,),) = connection.execute("SELECT ids FROM postings")
    assert ids == b"\0\0\0\0\1\0\0\0\2\0\0\0"


def test_a_text_without_words_finds_nothing() -> None:
    assert fuzzy_search.candidates(connection_of(["A dog.", "..."]), "...") == []
