"""The address of a service as a recipe: what it means, what it refuses, and what arrives at a real server."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from pytest_heta.errors import UsageError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.http import HttpRecipe
from pytest_heta.integrations.http_address import is_address, recipe_of_address
from pytest_heta.records import QueryResponse
from tests.integrations.helpers import ask, build

SEARCH = "https://search.example/v2/search?q={query}&k={top_k}"


def refusal(text: str) -> str:
    """Return why an address is refused."""
    with pytest.raises(UsageError) as caught:
        recipe_of_address(text)
    return str(caught.value)


def asked(host: str, rest: str, query: str = "q", answer: Any = None) -> tuple[str, dict[str, str], str, QueryResponse]:
    """Ask a server of one answer at an address; return the request line, headers and body as sent, and the response."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(_headers(head).get("content-length", 0))
        heads.append(head + (await reader.readexactly(length)).decode())
        body = json.dumps({"results": []} if answer is None else answer).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def work() -> QueryResponse:
        async with await asyncio.start_server(serve, host) as server:
            port = server.sockets[0].getsockname()[1]
            place = f"[{host}]" if ":" in host else host
            kb = await build(recipe_of_address(f"http://{place}:{port}{rest}"))
            try:
                return await ask(kb, query)
            finally:
                await kb.aclose()

    response = asyncio.run(work())
    head, _, body = heads[0].partition("\r\n\r\n")
    return head.splitlines()[0], _headers(head), body, response


def _headers(head: str) -> dict[str, str]:
    lines = [line.partition(":") for line in head.splitlines()[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h/{query}", True),
        (" HTTPS://h/{query}", True),
        ("https://h/r.py:recipe", True),
        ("ftp://h", False),
        ("r.py", False),
        ("http.py", False),
    ],
)
def test_an_address_is_told_from_a_file(text: str, expected: bool) -> None:
    """It begins with http:// or https://, in any case."""
    assert is_address(text) is expected


def test_without_options_the_recipe_is_as_http_recipe_has_it() -> None:
    """All that an address must hold is the query; the name is its host, with the port if there is one."""
    assert recipe_of_address(f" {SEARCH} ") == HttpRecipe(SEARCH, name="search.example")
    assert recipe_of_address("http://Search.Example:8080/{query}").name == "search.example:8080"
    assert recipe_of_address("http://[::1]:8080/{query}").name == "[::1]:8080"


def test_options_are_the_fields_of_http_recipe() -> None:
    """Each option stands for a field; headers and metadata are given one by one."""
    options = (
        "results=hits.hits&document_id=_id&score=_score&text=_source.body&answer=answers.0.text&metadata.took=took"
        "&metadata.node=_shards.node&header.Authorization=Bearer ${SEARCH_TOKEN}&header.X-Tenant=zoo&method=put"
        '&request={"q": {"text": "{query}"}, "n": [1, null]}&timeout=2.5&requests_per_second=20&max_concurrency=8'
        "&name=live one&modes=fast, exact"
    )
    assert recipe_of_address(f"{SEARCH}#{options}") == HttpRecipe(
        SEARCH,
        method="PUT",
        request={"q": {"text": "{query}"}, "n": [1, None]},
        headers={"Authorization": "Bearer ${SEARCH_TOKEN}", "X-Tenant": "zoo"},
        results="hits.hits",
        document_id="_id",
        score="_score",
        text="_source.body",
        answer="answers.0.text",
        metadata={"took": "took", "node": "_shards.node"},
        modes=("fast", "exact"),
        timeout=2.5,
        requests_per_second=20,
        max_concurrency=8,
        name="live one",
    )


def test_values_are_percent_decoded_and_a_plus_is_a_plus() -> None:
    """``%26``, ``%23``, ``%25`` and ``%3D`` are what they stand for; blanks, ``=``, ``+`` and ``?`` need nothing."""
    recipe = recipe_of_address(f"{SEARCH}#text=a%26b%23c%25d+e f&header.X-Filter=a=b?c%3Dd&name=%C3%BC+1")
    assert (recipe.text, recipe.headers, recipe.name) == ("a&b#c%d+e f", {"X-Filter": "a=b?c=d"}, "ü+1")


def test_a_path_may_be_none_or_the_whole() -> None:
    """An empty value stands for nothing, a dot for the whole answer or hit."""
    recipe = recipe_of_address(f"{SEARCH}#results=&score=&text=&answer=a.b")
    assert (recipe.results, recipe.score, recipe.text, recipe.answer) == (None, None, None, "a.b")
    recipe = recipe_of_address(f"{SEARCH}#results=.&document_id=.&score=")
    assert (recipe.results, recipe.document_id) == ("", "")
    response = asked("127.0.0.1", "/{query}#results=.&document_id=.&score=", answer=["lion", "otter"])[-1]
    assert [hit.id for hit in response.results] == ["lion", "otter"]


BAD = {
    "no query": ("https://h/search?k={top_k}", "neither the address nor request holds {query}"),
    "unknown placeholder": ("https://h/{query}?k={topk}", "unknown placeholder {topk} (known: {query}, {top_k}"),
    "unknown option": ("https://h/{query}#resluts=a", "unknown option 'resluts'; did you mean 'results'? (known: res"),
    "misspelt group": ("https://h/{query}#headers.X=a", "unknown option 'headers.X'; did you mean 'header.X'? (known"),
    "no header": ("https://h/{query}#header.=a", "unknown option 'header.'"),
    "a field that is none": ("https://h/{query}#ingest=a", "unknown option 'ingest'"),
    "no value": ("https://h/{query}#name", "option 'name' must be name=VALUE"),
    "twice": ("https://h/{query}#timeout=1&timeout=2", "option 'timeout' is given twice"),
    "header twice": ("https://h/{query}#header.X-A=1&header.x-a=2", "option 'header.x-a' is given twice"),
    "no number": ("https://h/{query}#timeout=10s", "option 'timeout' must be a number above 0, not '10s'"),
    "nan": ("https://h/{query}#timeout=nan", "option 'timeout' must be a number above 0, not 'nan'"),
    "zero": ("https://h/{query}#requests_per_second=0", "option 'requests_per_second' must be a number above 0, not"),
    "no whole": (
        "https://h/{query}#max_concurrency=1.5",
        "option 'max_concurrency' must be a whole number from 1, not",
    ),
    "bad JSON": ('https://h#request={"q":"{query}"', "option 'request' is not JSON: Expecting ',' delimiter: line 1"),
    "no JSON number": ('https://h/{query}#request={"a":NaN}', "option 'request' is not JSON: NaN is none"),
    "bad method": ("https://h/{query}#method=GET it", "option 'method' must be a method of HTTP, not 'GET it'"),
    "bad header": ("https://h/{query}#header.X Y=1", "option 'header.X' is not a name that a header can have"),
    "bad header value": ("https://h/{query}#header.X=a%0Ab", "option 'header.X' must be printable ASCII"),
    "no mode": ("https://h/{query}#modes=a,,b", "option 'modes' must be different names with commas between them"),
    "same modes": ("https://h/{query}#modes=a,a", "option 'modes' must be different names with commas between them"),
    "no id": ("https://h/{query}#document_id=", "option 'document_id' must be a dotted path, or . for the whole"),
    "no name": ("https://h/{query}#name=%20", "option 'name' must be a name that can be printed, not ' '"),
    "no UTF-8": ("https://h/{query}#name=%FF", "option 'name' is percent-encoded, but not UTF-8"),
    "nothing read": ("https://h/{query}#results=", "': with neither results nor answer, nothing is read"),
    "no host": ("https:///search?q={query}", "it names no host, or none that can be asked"),
    "a placeholder as host": ("https://{mode}.example/{query}", "it names no host, or none that can be asked"),
    "half an IPv6": ("https://[::1/{query}", "it names no host, or none that can be asked"),
    "no port": ("https://h:http/{query}", "its port must be a number from 1 to 65535"),
    "no such port": ("https://h:65536/{query}", "its port must be a number from 1 to 65535"),
    "a line break": ("https://h/{query}\nx", "it holds a character that must be percent-encoded"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_what_cannot_work_is_refused_at_once(text: str, message: str) -> None:
    """One message with the address, the option, what was expected, and the near name where one is near."""
    refused = refusal(text)
    assert message in refused
    assert refused.startswith(f"recipe {text.partition('#')[0]!r}: ")


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hush-1@h/{query}",
        "https://me:p@ss-hush-1@h/{query}",
        "https://me:hush-1/x@h/{query}",
        "https://hush-1@h/{query}#timeout=0",
        "https://h/search?q={query}&api_key=hush-1#timeout=0",
        "https://h/search?api_key=hush-1",
        "https://h/search?q={query}&token=hush-1#results=",
        "https://h/{query}#header.Authorization=Bearer hush-1",
        "https://h/{query}#header.authorization=hush-1",
        "https://h/{query}#header.X-Api-Key=hush%2D1",
        "https://h/{query}#header.X=sk-hush-1hush-1hush-1",
        'https://h/{query}#request={"auth": {"password": "hush-1"}}',
        "https://h/{query}#request=%7B%22token%22:%22hush-1%22%7D",
        "https://h/{query}#header.X=1&api_key=hush-1",
        "https://h/{query}#api_key:hush-1",
        "https://h/{query}#x.api_key:hush-1",
        "https://h/{query}#header.Authorization: Token hush-1",
        "https://h/{query}#header.Authorization: Token hush-1==",
        'https://h#request={"q":"{query}&password":"hush-1"}',
    ],
)
def test_secrets_are_refused_and_never_shown(text: str) -> None:
    """A user or password, a literal key in a header or a body are refused; no message holds them, or one of a URL."""
    assert "hush-1" not in refusal(text)


def test_a_recipe_may_be_an_address_wherever_objects_are_taken() -> None:
    """As in a recipe file, or in a script."""
    assert as_recipe(SEARCH, "here") == recipe_of_address(SEARCH)


def test_what_stands_behind_the_hash_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server sees the address in front of it, filled in, and headers from the environment."""
    monkeypatch.setenv("ZOO_TOKEN", "s3cret")
    options = "#header.Authorization=Bearer ${ZOO_TOKEN}&metadata.took=took"
    line, headers, body, response = asked(
        "127.0.0.1", "/s?q={query}&k={top_k}&m={mode}" + options, answer={"results": [], "took": 3}
    )
    assert line == "GET /s?q=q&k=2&m=search HTTP/1.1"
    assert (headers["authorization"], body, response.metadata) == ("Bearer s3cret", "", {"took": 3})


def test_a_body_makes_it_a_post() -> None:
    """The body is JSON, filled in; a number stays one."""
    line, headers, body, _ = asked("127.0.0.1", '/s#request={"q":"{query}","k":"{top_k}"}', 'a "b" & c')
    assert (line, headers["content-type"]) == ("POST /s HTTP/1.1", "application/json")
    assert json.loads(body) == {"q": 'a "b" & c', "k": 2}


@pytest.mark.parametrize(
    ("rest", "target"),
    [
        ("/a%2Fb/%C3%BC/{query}", "/a%2Fb/%C3%BC/1%20%26%202"),
        ("?q={query}", "/?q=1%20%26%202"),
        ('/s?fields[]=id&f={"lang":"en"}&q={query}', "/s?fields[]=id&f={%22lang%22:%22en%22}&q=1%20%26%202"),
        ("/s?x=a+b%2Bc%23&q={query}", "/s?x=a+b%2Bc%23&q=1%20%26%202"),
        ("/s t?q={query}", "/s%20t?q=1%20%26%202"),
        ("/%7Bid%7D?q={query}", "/%7Bid%7D?q=1%20%26%202"),
    ],
)
def test_an_address_arrives_as_it_is_written(rest: str, target: str) -> None:
    """What is encoded stays so, brackets and braces may stand, the query is encoded whole."""
    assert asked("127.0.0.1", rest, "1 & 2")[0] == f"GET {target} HTTP/1.1"


def test_a_host_may_be_an_ipv6_address() -> None:
    """It stands in brackets."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    line, headers, _, _ = asked("::1", "/{query}")
    assert line == "GET /q HTTP/1.1"
    assert headers["host"].startswith("[::1]:")
