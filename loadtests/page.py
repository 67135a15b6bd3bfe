"""The report of a load test: one self-contained page, in the clothes of zkkit's other reports."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from loadtests import words
from loadtests.words import Results
from zkkit.bench.designs import DESIGNS
from zkkit.show.page import facts, page, picture, small, table, verdict


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    finding, lines = words.title(results), results["figures"]
    designs = " and ".join(results["plan"]["designs"])
    return page(
        title=finding,
        heading=f"A lock under load: {designs}",
        verdict=verdict(results["verdict"], f"{results['why']} {finding}."),
        body=(
            _explanation(results),
            *(picture(data, words.alt_text(results)) for data in pictures.values()),
            "<h2>What it costs</h2>",
            table(words.COUNT_HEADERS, [words.count_cells(line) for line in lines]),
            "<h2>Where the time goes</h2>",
            table(words.TIME_HEADERS, [row for line in lines for row in words.time_cells(line)]),
            small(words.notes(results)),
            "<h2>Measured on</h2>",
            facts(words.facts(results)),
            "<h2>Run it again</h2>",
            f"<pre>{escape(results['command'])}</pre>",
            '<p class="soft">Beside this page: results.json has every run, server-metrics.json '
            "what the servers said, events.parquet (or .jsonl) every grant and release.</p>",
        ),
        rows_in_group=4,  # the phases of a turn
    )


def _explanation(results: Results) -> str:
    items = "".join(
        f"<li><b>{escape(name)}</b>: {escape(DESIGNS[name].does)}.</li>"
        for name in results["plan"]["designs"]
        if name in DESIGNS
    )
    return (
        "<p>Many users, each with a session of its own, want one lock. Each acquires it, holds it "
        "for a moment, releases it, and asks again at once. At the end all holds of all users are "
        f"laid on one clock: no two may overlap.</p><ul>{items}</ul>"
    )
