"""The report of an experiment: its own part, then what every report ends with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from zkkit.bench.kit.results import Head
from zkkit.show import page


def report(
    head: Head,
    *,
    heading: str,
    finding: str,
    body: Iterable[str],
    facts: Mapping[str, str],
    beside: str,
    rows_in_group: int = 1000,
) -> str:
    """The page: the verdict with the finding, the body, what it was measured on, and how to run it
    again. `beside` says what lies beside the page; a thicker line is drawn below every
    `rows_in_group` rows of a table."""
    verdict, why = head.judgement
    return page.page(
        title=finding,
        heading=heading,
        verdict=page.verdict(verdict, f"{finding}. {why}"),
        body=(
            *body,
            "<h2>Measured on</h2>",
            page.facts(facts),
            "<h2>Run it again</h2>",
            f"<pre>{escape(head.command)}</pre>",
            f'<p class="soft">Beside this page: {escape(beside)}.</p>',
        ),
        rows_in_group=rows_in_group,
    )
