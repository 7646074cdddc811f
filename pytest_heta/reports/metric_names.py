"""The parts of a metric's name, and which metrics stand for the rest."""

from __future__ import annotations

from collections.abc import Sequence


def family_and_depth(metric: str) -> tuple[str, int]:
    """Return ``("ndcg", 10)`` of ``ndcg@10``; a metric without a depth has 0."""
    family, _, depth = metric.rpartition("@")
    return (family, int(depth)) if family and depth.isascii() and depth.isdigit() else (metric, 0)


def headline_metrics(metrics: Sequence[str], most: int = 6) -> list[str]:
    """Return one metric of each family: that at 10, else the deepest; at most ``most``, in the given order."""
    families: dict[str, dict[int, str]] = {}
    for metric in metrics:
        family, depth = family_and_depth(metric)
        families.setdefault(family, {})[depth] = metric
    return [members.get(10) or members[max(members)] for members in families.values()][:most]
