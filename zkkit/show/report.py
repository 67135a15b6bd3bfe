"""The report of a comparison: picture, table, verdict, machine, how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from zkkit.show import findings
from zkkit.show.findings import Results
from zkkit.show.page import facts, page, picture, small, table, verdict


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    finding = findings.title(results)
    designs = " and ".join(results["plan"]["designs"])
    return page(
        title=finding,
        heading=f"Designs of a lock, compared: {designs}",
        verdict=verdict(results["verdict"], f"{finding}. {results['why']}"),
        body=(
            _explanation(results),
            *(picture(data, findings.alt_text(results)) for data in pictures.values()),
            "<h2>The figures</h2>",
            _figures(results),
            "<h2>Measured on</h2>",
            facts(findings.facts(results)),
            "<h2>Run it again</h2>",
            f"<pre>{escape(results['command'])}</pre>",
            '<p class="soft">Beside this page: results.json has every run, server-metrics.json '
            "what the servers said, events.parquet (or .jsonl) every event.</p>",
        ),
        rows_in_group=len(results["plan"]["designs"]),
    )


def _explanation(results: Results) -> str:
    items = "".join(
        f"<li><b>{escape(name)}</b>: {escape(law['does'])}. The law: {law['relation']} "
        f"{escape(law['fires'])} fires and {escape(law['creates'])} creates.</li>"
        for name, law in results["laws"].items()
    )
    return (
        "<p>One session holds a lock. N contenders, each with a session of its own, queue behind "
        "it; then it lets go, and each of them acquires the lock once. How many watches fire?</p>"
        f"<ul>{items}</ul>"
    )


def _figures(results: Results) -> str:
    figures = results["figures"]
    notes = list(findings.LEGEND)
    if any(figure["saturated"] for figure in figures):
        notes.append(findings.SATURATED_NOTE)
    return table(findings.HEADERS, map(findings.cells, figures)) + small(notes)
