"""The tiny corpus: documents that are easy to tell apart, and queries that each have one right document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_heta.keys import safe_document_id

_TEXTS = {
    "lighthouse": "The lighthouse keeper trims the lamp every evening and writes the weather into the log.",
    "bakery 7": "The baker mixes rye flour, water and salt, and lets the sourdough rise for eighteen hours.",
    "Zürich/2": "Der Zug nach Zürich fährt um sieben Uhr von Gleis vier ab und hält in Olten.",
    "glacier": "The glacier loses two metres of ice a year; the meltwater fills a lake below the moraine.",
    "chess.opening": "In the Sicilian defence black answers the king's pawn by moving the bishop's pawn two squares.",
    "violin": "A violin has four strings tuned in fifths, and a bow strung with horsehair and rosin.",
    "volcano": "Magma rises through the volcano and cools to basalt when the lava reaches the sea.",
    "beehive": "In a beehive the workers dance to tell each other where the clover blooms.",
    "antibiotic": "An antibiotic such as penicillin kills bacteria but leaves a virus unharmed.",
    "telescope": "The telescope's mirror gathers light from a galaxy twelve billion light years away.",
}
_LONG = " ".join(
    f"Paragraph {number} of the harbour regulations deals with berth {number}, its crane and its mooring lines."
    for number in range(1, 121)
)

QUERIES = {
    "lighthouse": "who trims the lamp in the lighthouse",
    "bakery 7": "how long does the sourdough of rye flour rise",
    "Zürich/2": "Zug nach Zürich Gleis",
    "glacier": "meltwater of the glacier fills a lake",
    "violin": "strings of a violin tuned in fifths",
    "antibiotic": "penicillin kills bacteria, not a virus",
}
"""Queries by the original id of the right document; each shares its telling words with that document alone."""


@dataclass(frozen=True)
class TinyCorpus:
    """Texts by document id in its file-name form, and the name of the benchmark that they pretend to be."""

    name: str
    texts: Mapping[str, str]

    def key(self, document_id: str) -> str:
        """Return the raw key of one document."""
        return f"raw/benchmarks/{self.name}/test/{document_id}/{document_id}.txt"


def _corpus(name: str, texts: Mapping[str, str]) -> TinyCorpus:
    return TinyCorpus(name, {safe_document_id(original): text for original, text in texts.items()})


MAIN = _corpus("heta_check", {**_TEXTS, "harbour": _LONG})
"""Eleven documents; one is long enough to be cut into several chunks, and ids have blanks, slashes and dots."""

OTHER = _corpus(
    "heta_check",
    {
        "lighthouse-b": "The lighthouse of the other island has been dark since the storm.",
        "violin-b": "The other violin lost two of its strings.",
    },
)
"""Documents of another run unit: no query to MAIN may find them, nor the other way round."""

DUPLICATES = _corpus("heta_check", {"first": _TEXTS["violin"], "second": _TEXTS["violin"], "third": _TEXTS["glacier"]})
"""Two documents of the same text: real corpora have them."""
