"""The report of how fast locks are: picture, tables, verdict, machine, how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from zkkit.show import locks_findings as findings
from zkkit.show import page
from zkkit.show.findings import Results


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    finding = findings.title(results)
    body = [
        "<p>Each peer acquires and releases one lock as often as it can: alone, and with many "
        "sessions that want the same path. The peers take turns on the same servers.</p>",
        *(page.picture(data, findings.alt_text(results)) for data in pictures.values()),
    ]
    for heading, head, rows, notes in findings.tables(results):
        body += [f"<h2>{escape(heading)}</h2>", page.table(head, rows), page.small(notes)]
    if results["left_out"]:
        body.append(page.small([results["left_out"]]))
    body += [
        "<h2>Measured on</h2>",
        page.facts(findings.conditions(results)),
        "<h2>The classes</h2>",
        page.facts(_classes(results)),
        "<h2>Run it again</h2>",
        f"<pre>{escape(results['command'])}</pre>",
        '<p class="soft">Beside this page: results.json has every cell, figures.md the tables to '
        "paste.</p>",
    ]
    return page.page(
        title=finding,
        heading="How fast locks are",
        verdict=page.verdict(results["verdict"], f"{finding}. {results['why']}"),
        body=body,
        rows_in_group=1000,  # the tables have no groups in common
    )


def _classes(results: Results) -> dict[str, str]:
    return {
        figure["kind"]: ", ".join(
            f"{name} {figure['classes'][name]}" for name in results["plan"]["peers"]
        )
        for figure in results["figures"]
    }
