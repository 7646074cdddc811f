"""A search of one's own: a class that builds its index from the benchmark's documents. Needs nothing else.

Where the index exists already, a file with ``def search(query, top_k)`` alone is a recipe.
"""

from collections import Counter

from pytest_heta.integrations.documents import SourceDocument


class WordCount:
    """Ranks documents by how often they say the words of the query."""

    def build(self, documents: list[SourceDocument]) -> None:
        """Count the words of each document."""
        self.counts = {document.document_id: Counter(document.text.lower().split()) for document in documents}

    def search(self, query: str, top_k: int) -> list[tuple[str, int]]:
        """Return the best documents and their scores, best first."""
        words = query.lower().split()
        scores = {name: sum(counts[word] for word in words) for name, counts in self.counts.items()}
        return sorted(scores.items(), key=lambda pair: -pair[1])[:top_k]


recipe = WordCount
