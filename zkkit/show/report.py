"""One self-contained page for a result: picture, table, verdict, machine, how to run it again.

It refers to nothing outside itself, and follows the reader's light or dark theme.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from html import escape

from zkkit.show import findings
from zkkit.show.findings import Results

_VERDICTS = {
    True: ("holds", "✓ Verdict: holds"),
    False: ("broken", "✗ Verdict: broken"),
    "unknown": ("unknown", "? Verdict: unknown"),
}

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #55585e; --page: #fafafa; --card: #fff;
  --line: #d9dbe0; --holds: #00654a; --broken: #a83a00; --unknown: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --soft: #a9adb8; --page: #17181c;
  --card: #212329; --line: #3a3d46; --holds: #35c79a; --broken: #ff8a50; --unknown: #f0b429; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; background: var(--page);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .75rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .6rem; }
.verdict { border-left: .35rem solid var(--tone); padding: .5rem 1rem; background: var(--card); }
.verdict strong { color: var(--tone); display: block; font-size: 1.1rem; }
.holds { --tone: var(--holds); } .broken { --tone: var(--broken); }
.unknown { --tone: var(--unknown); }
figure { margin: 1.5rem 0; }
img { width: 100%; height: auto; background: #fff; border-radius: .5rem; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .35rem .5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; }
tbody tr:nth-child(GROUPn) > * { border-bottom-width: 2px; }
th:first-child, td:first-child, .facts th, .facts td { text-align: left; }
.facts td { white-space: normal; }
.facts th { color: var(--soft); font-weight: 500; vertical-align: top; }
small, .soft { color: var(--soft); }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem 1rem; overflow-x: auto; }
"""


def html(results: Results, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG files by name, drawn for the same results."""
    kind, heading = _VERDICTS[results["verdict"]]
    finding = findings.title(results)
    designs = " and ".join(results["plan"]["designs"])
    body = (
        f"<h1>Designs of a lock, compared: {escape(designs)}</h1>",
        f'<p class="verdict {kind}"><strong>{heading}</strong> {escape(finding)}. '
        f"{escape(results['why'])}</p>",
        _explanation(results),
        *(_picture(data, findings.alt_text(results)) for data in pictures.values()),
        "<h2>The figures</h2>",
        _table(results),
        "<h2>Measured on</h2>",
        _facts(results),
        "<h2>Run it again</h2>",
        f"<pre>{escape(results['command'])}</pre>",
        '<p class="soft">Beside this page: results.json has every run, server-metrics.json what '
        "the servers said, events.parquet (or .jsonl) every event.</p>",
    )
    style = _STYLE.replace("GROUP", str(max(1, len(results["plan"]["designs"]))))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(finding)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
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


def _picture(data: bytes, alt: str) -> str:
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{encoded}" '
        f'alt="{escape(alt, quote=True)}"></figure>'
    )


def _table(results: Results) -> str:
    figures = results["figures"]
    head = _row("th", findings.HEADERS)
    rows = "\n".join(_row("td", findings.cells(figure)) for figure in figures)
    notes = list(findings.LEGEND)
    if any(figure["saturated"] for figure in figures):
        notes.append(findings.SATURATED_NOTE)
    return (
        f'<div class="wide"><table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>'
        f"<p><small>{'<br>'.join(map(escape, notes))}</small></p>"
    )


def _facts(results: Results) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in findings.facts(results).items()
    )
    return f'<div class="wide"><table class="facts"><tbody>{rows}</tbody></table></div>'


def _row(tag: str, cells: Iterable[str]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return "<tr>" + "".join(f"<{tag}{scope}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
