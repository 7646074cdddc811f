"""Node names: ids that need no care stay as they are, all others become a slug and a digest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60


def node_names(ids: Iterable[str]) -> dict[str, str]:
    """Return a name for each id: unique, made of letters, digits and ``._-``, the same on every machine."""
    ids = list(ids)
    plain = {key for key in ids if _PLAIN.fullmatch(key)}
    names = {key: key for key in plain}
    taken = set(plain)
    for key in sorted(set(ids) - plain):
        names[key] = _free_name(key, taken)
        taken.add(names[key])
    return names


def _free_name(key: str, taken: set[str]) -> str:
    slug = _OTHER.sub("-", key).strip("-").lstrip(".")[:_LONGEST]  # without a dot, which would hide a folder
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    # The whole digest ends the search for all but a crafted id.
    lengths = range(8, len(digest) + 1)
    candidates = (f"{slug}-{digest[:length]}" if slug else digest[:length] for length in lengths)
    return next(name for name in candidates if name not in taken)
