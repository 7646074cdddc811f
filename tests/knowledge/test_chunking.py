"""Cutting pages into chunks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.chunking import CharacterChunker, Chunk, Chunker, TokenChunker
from pytest_heta.knowledge.parsing import Page

TEXTS = st.text(alphabet="ab c\n\t.é😀", max_size=200)
SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def check_nothing_is_lost(chunker: Chunker, text: str) -> list[Chunk]:
    """Check that chunks are what their places say, in order, and together hold every visible character."""
    chunks = list(chunker.chunk([Page(3, text)]))
    covered: set[int] = set()
    for chunk in chunks:
        assert chunk.page_index == 3
        assert chunk.text == text[chunk.char_start : chunk.char_end] == chunk.text.strip() != ""
        covered.update(range(chunk.char_start, chunk.char_end))
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered
    ends = [(chunk.char_start, chunk.char_end) for chunk in chunks]
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(ends))
    return chunks


@given(TEXTS, SIZES)
def test_character_chunks_lose_nothing(text: str, sizes: tuple[int, int]) -> None:
    """Whatever the text and sizes, no chunk is too long, none lies inside another, and no visible character is lost."""
    size, overlap = sizes
    chunks = check_nothing_is_lost(CharacterChunker(size, overlap), text)
    assert all(len(chunk.text) <= size for chunk in chunks)


@given(TEXTS, SIZES)
def test_token_chunks_lose_nothing(text: str, sizes: tuple[int, int]) -> None:
    """Whatever the text and sizes, no chunk has too many words, and no visible character is lost."""
    size, overlap = sizes
    chunks = check_nothing_is_lost(TokenChunker(size, overlap), text)
    assert all(len(chunk.text.split()) <= size for chunk in chunks)


def test_character_chunks_end_at_white_space() -> None:
    """A cut goes to the last white space before the limit, and the next chunk begins with a whole word."""
    text = "alpha beta gamma delta epsilon"
    assert list(CharacterChunker(12, 6).chunk([Page(0, text)])) == [
        Chunk("alpha beta", 0, 0, 10),
        Chunk("beta gamma", 0, 6, 16),
        Chunk("gamma delta", 0, 11, 22),
        Chunk("epsilon", 0, 23, 30),
    ]


def test_a_word_longer_than_a_chunk_is_cut() -> None:
    """Where there is no white space a chunk is cut at its size."""
    assert [chunk.text for chunk in CharacterChunker(4, 0).chunk([Page(0, "abcdefghij")])] == ["abcd", "efgh", "ij"]


def test_token_chunks_overlap_by_tokens() -> None:
    """Windows of words share the overlap, and the last one is not repeated by a shorter one."""
    chunks = TokenChunker(3, 1).chunk([Page(0, "a b  c\nd e"), Page(2, "f")])
    assert list(chunks) == [Chunk("a b  c", 0, 0, 6), Chunk("c\nd e", 0, 5, 10), Chunk("f", 2, 0, 1)]


def test_text_without_spaces_is_cut_into_tokens() -> None:
    """A run of 100 characters without white space counts as three tokens, not as one word of any length."""
    assert [len(chunk.text) for chunk in TokenChunker(1, 0).chunk([Page(0, "字" * 100)])] == [40, 40, 20]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_sizes_that_cannot_work_are_refused(size: int, overlap: int) -> None:
    """A size below 1, a negative overlap, or one as long as the chunk is a RecipeError."""
    with pytest.raises(RecipeError, match=f"size={size}, overlap={overlap}"):
        TokenChunker(size, overlap)
    with pytest.raises(RecipeError, match=f"size={size}, overlap={overlap}"):
        CharacterChunker(size, overlap)
