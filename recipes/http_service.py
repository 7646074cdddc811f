"""A search service that is already running, with documents of its own, asked over HTTP.

Set SEARCH_URL to its address, and SEARCH_TOKEN to the key that it wants. Change the mapping to what it speaks.
"""

import os

from pytest_heta.integrations.http import HttpRecipe

recipe = HttpRecipe(
    os.environ.get("SEARCH_URL", "http://127.0.0.1:8000/search"),
    request={"query": "{query}", "top_k": "{top_k}"},
    headers={"Authorization": "Bearer ${SEARCH_TOKEN}"} if "SEARCH_TOKEN" in os.environ else {},
    results="results",  # the list of hits in the answer; "hits.hits" where it lies deeper
    document_id="id",  # in each hit, as are score and text
    score="score",
    timeout=30,
    requests_per_second=20,
    max_concurrency=8,
    name="http_service",
)
