"""Anchors of claims: a cell that shows the row of a claim is where links to the claim lead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.lab.claims import source_of

_ANCHOR = re.compile(r'<a id="(\w+)"></a>')
_LINK = re.compile(r"\[([^\]]*)\]\(claim:([^)]*)\)")


def claimed(results: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """The results with a column `claims`: the names of the claims that the row answers, separated by spaces."""
    if claims.empty or results.empty:
        return results
    measured = claims[claims["value"].notna()]
    names = measured.groupby(measured["source"].str.split(" beside ").str[0])["claim"].agg(" ".join).to_dict()
    metrics = set(measured["source"].str.replace(r" results .*metric=(\w+).*", r" \1", regex=True))
    rows = results[(results["seed"] == "all") & (results["experiment"] + " " + results["metric"]).isin(metrics)]
    answering = pd.Series([names.get(source_of(row), "") for row in rows.to_dict("records")], rows.index, dtype=str)
    return results.assign(claims=answering.reindex(results.index, fill_value=""))


def anchors(row: Mapping[Any, Any]) -> str:
    """The anchors of the claims that a row of `claimed` answers; empty for any other row."""
    return "".join(map(anchor, str(row.get("claims", "")).split()))


def anchor(claim: str) -> str:
    """What a link to the claim leads to."""
    return f'<a id="{claim}"></a>'


def once(text: str) -> str:
    """The page with the first anchor of each claim alone: a row may stand in several tables."""
    first: dict[str, int] = {}
    return _ANCHOR.sub(lambda match: match[0] * (first.setdefault(match[1], match.start()) == match.start()), text)


def landed(texts: Mapping[str, str]) -> dict[str, str]:
    """The pages by name, the front page first, with links `[...](claim:name)` to the place that answers the claim.

    It is the first page with the claim's anchor, the front page only if no other has one; further anchors are left out.
    """
    front, *others = texts
    places: dict[str, str] = {}
    for page in (*others, front):
        for claim in claims_in(texts[page]):
            places.setdefault(claim, page)

    def resolved(name: str) -> str:
        def link(match: re.Match) -> str:
            page = places.get(match[2])
            return f"[{match[1]}]({'' if page == name else f'{page}.md'}#{match[2]})" if page else match[1]

        alone = _ANCHOR.sub(lambda match: match[0] * (places[match[1]] == name), texts[name])
        return _LINK.sub(link, alone)

    return {name: resolved(name) for name in texts}


def claims_in(text: str) -> list[str]:
    """The claims whose anchors are in the page."""
    return _ANCHOR.findall(text)
