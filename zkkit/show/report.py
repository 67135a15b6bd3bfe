"""The report of a comparison: picture, table, verdict, machine, how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from zkkit.bench.laws import POPULATIONS
from zkkit.show import findings
from zkkit.show.findings import Results
from zkkit.show.page import facts, page, picture, small, table, verdict


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    finding = findings.title(results)
    designs = ", ".join(results["plan"]["designs"])
    return page(
        title=finding,
        heading=f"Designs of a lock, compared: {designs}",
        verdict=verdict(results["verdict"], f"{finding}. {results['why']}"),
        body=(
            _explanation(results),
            *(picture(data, findings.alt_text(results)) for data in pictures.values()),
            "<h2>What was counted</h2>",
            table(findings.HEADERS, map(findings.cells, results["figures"])),
            "<h2>How long it took</h2>",
            table(findings.TIME_HEADERS, map(findings.time_cells, results["figures"])),
            small(findings.notes(results)),
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
        f"<li><b>{escape(name)}</b>: {escape(law['does'])}. The law: {escape(law['told'])}.</li>"
        for name, law in results["laws"].items()
    )
    plan = results["plan"]
    wants = "; the first half of them to write, the others to read" if plan["readers"] else ""
    return (
        f"<p>One session holds a lock. N contenders, {POPULATIONS[plan['population']]}, queue "
        f"behind it{wants}. Then it lets go, and each of them acquires the lock once. How many "
        f"watches fire, and how many actors wake?</p><ul>{items}</ul>"
    )
