"""What all pages share: one self-contained file that follows the reader's light or dark theme and
refers to nothing outside itself."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

_SIGNS = {"holds": "✓", "broken": "✗", "unknown": "?"}

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


def page(*, title: str, heading: str, verdict: str, body: Iterable[str], rows_in_group: int) -> str:
    """The whole page. A thicker line is drawn below every `rows_in_group` rows of a table."""
    style = _STYLE.replace("GROUP", str(max(1, rows_in_group)))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join((f"<h1>{escape(heading)}</h1>", verdict, *body))
        + "\n</body>\n</html>\n"
    )


def verdict(word: str, why: str) -> str:
    """A verdict (holds, broken or unknown), and why."""
    heading = f"{_SIGNS[word]} Verdict: {word}"
    return f'<p class="verdict {word}"><strong>{heading}</strong> {escape(why)}</p>'


def picture(data: bytes, alt: str) -> str:
    """A PNG file, inside the page."""
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{encoded}" '
        f'alt="{escape(alt, quote=True)}"></figure>'
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a head."""
    body = "\n".join(_row("td", row) for row in rows)
    return (
        f'<div class="wide"><table><thead>{_row("th", headers)}</thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def facts(named: Mapping[str, str]) -> str:
    """A table of names and what they are."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in named.items()
    )
    return f'<div class="wide"><table class="facts"><tbody>{rows}</tbody></table></div>'


def small(lines: Iterable[str]) -> str:
    """Notes in small print."""
    return f"<p><small>{'<br>'.join(map(escape, lines))}</small></p>"


def _row(tag: str, cells: Iterable[str]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return "<tr>" + "".join(f"<{tag}{scope}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
