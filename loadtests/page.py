"""The report of a load test: one self-contained page, in the clothes of zkkit's other reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from loadtests import words
from loadtests.words import Results
from zkkit.bench.designs import DESIGNS
from zkkit.show import report


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    kind, heading = report._VERDICTS[results["verdict"]]
    finding, lines = words.title(results), results["figures"]
    designs = " and ".join(results["plan"]["designs"])
    body = (
        f"<h1>A lock under load: {escape(designs)}</h1>",
        f'<p class="verdict {kind}"><strong>{heading}</strong> {escape(results["why"])} '
        f"{escape(finding)}.</p>",
        _explanation(results),
        *(report._picture(data, words.alt_text(results)) for data in pictures.values()),
        "<h2>What it costs</h2>",
        _table(words.COUNT_HEADERS, [words.count_cells(line) for line in lines]),
        "<h2>Where the time goes</h2>",
        _table(words.TIME_HEADERS, [row for line in lines for row in words.time_cells(line)]),
        f"<p><small>{'<br>'.join(map(escape, words.notes(results)))}</small></p>",
        "<h2>Measured on</h2>",
        _facts(words.facts(results)),
        "<h2>Run it again</h2>",
        f"<pre>{escape(results['command'])}</pre>",
        '<p class="soft">Beside this page: results.json has every run, server-metrics.json what '
        "the servers said, events.parquet (or .jsonl) every grant and release.</p>",
    )
    style = report._STYLE.replace("GROUP", "4")  # a thicker line below each four phases
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(finding)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
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


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "\n".join(report._row("td", row) for row in rows)
    head = report._row("th", headers)
    return f'<div class="wide"><table><thead>{head}</thead>\n<tbody>{body}</tbody></table></div>'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div class="wide"><table class="facts"><tbody>{rows}</tbody></table></div>'
