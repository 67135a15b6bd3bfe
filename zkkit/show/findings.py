"""What the figures of a comparison say, in words: the titles, the table, the text beside pictures.

All of it is computed from the plain data of results.json; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zkkit.show.table import table

Results = Mapping[str, Any]
Figure = Mapping[str, Any]

HEADERS = (
    "design",
    "contenders",
    "fires",
    "servers",
    "law",
    "creates",
    "law",
    "useful",
    "overtakings",
    "handoff ms",
    "p90 ms",
    "total ms",
)
LEGEND = (
    "fires: watch notifications the clients received; servers: the same, counted by the servers",
    "useful: share of wakeups after which the contender got the lock",
    "overtakings: pairs of contenders served in another order than they came",
    "handoff: from a release to the next grant; median over the repeats, smallest..greatest",
)
SATURATED_NOTE = (
    "* the client used over 90 % of one core: its times tell more about the Python interpreter "
    "than about the design"
)


def title(results: Results) -> str:
    """The finding, in one line."""
    figures = results["figures"]
    if not figures:
        return "Nothing was measured"
    most = max(figure["contenders"] for figure in figures)
    there = sorted(
        (f for f in figures if f["contenders"] == most), key=lambda f: f["fires"]["median"]
    )
    few, many = there[0], there[-1]
    contenders = f"With {most} contender{'s' if most != 1 else ''}"
    if few is many:
        return f"{contenders} the {few['design']} lock fires {_watches(_count(few['fires']))}"
    ratio = many["fires"]["median"] / few["fires"]["median"]
    if ratio < 1.05:
        return f"{contenders} both locks fire about {_watches(_plain(few['fires']['median']))}"
    return (
        f"{contenders} the {many['design']} lock fires {_times(ratio)} as many watches "
        f"as the {few['design']} lock"
    )


def alt_text(results: Results) -> str:
    """What the picture shows, for those who do not see it."""
    parts = [f"{title(results)}. Left: fires against contenders, with the law as a line;"]
    for name in results["plan"]["designs"]:
        mine = [f for f in results["figures"] if f["design"] == name]
        points = ", ".join(f"{_count(f['fires'])} at {f['contenders']}" for f in mine)
        parts.append(f"{name}: {points};")
    parts.append("right: median handoff in milliseconds;")
    for name in results["plan"]["designs"]:
        mine = [f for f in results["figures"] if f["design"] == name and f["handoff_ms"]]
        points = ", ".join(f"{f['handoff_ms']['median']:.1f} at {f['contenders']}" for f in mine)
        parts.append(f"{name}: {points};")
    return " ".join(parts).rstrip(";") + "."


def cells(figure: Figure) -> tuple[str, ...]:
    """One row of the table, as text."""
    law = figure["law"]
    sign = "=" if law["relation"] == "exactly" else "≤"
    star = "*" if figure["saturated"] else ""
    return (
        figure["design"],
        str(figure["contenders"]),
        _count(figure["fires"]),
        _count(figure["server_fires"]),
        f"{sign} {law['fires']:,}",
        _count(figure["creates"]),
        f"{sign} {law['creates']:,}",
        _percent(figure["useful_share"]),
        _count(figure["overtakings"]),
        _interval(figure["handoff_ms"]) + star,
        _one(figure["handoff_p90_ms"]) + star,
        _one(figure["total_ms"], 0) + star,
    )


def text_table(results: Results) -> str:
    """All figures as aligned text, with what the columns mean."""
    figures = results["figures"]
    notes = list(LEGEND)
    if any(figure["saturated"] for figure in figures):
        notes.append(SATURATED_NOTE)
    return "\n".join((table(HEADERS, [cells(f) for f in figures]), "", *notes))


def facts(results: Results) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan, machine, ensemble = results["plan"], results["machine"], results["ensemble"]
    load = machine["load_average"]
    return {
        "servers": _servers(ensemble),
        "data on": _medium(ensemble),
        "machine": f"{machine['cpu_count']} x {machine['cpu_model']}"
        + (f", load {load[0]} at the end" if load else ""),
        "system": machine["os"],
        "client": f"{machine['python']}, zkkit {machine['zkkit']}, kazoo {machine['kazoo']}, "
        "all contenders in one process",
        "CPU of the client": _cpu_share(results),
        "plan": f"{plan['repeats']} repeats in {plan['order']} order, each hold "
        f"{plan['hold_ms']:g} ms, seed {plan['seed']}",
        "measured": f"{results['started']}, in {results['seconds']:g} s",
    }


def _servers(ensemble: Mapping[str, Any]) -> str:
    text = f"{ensemble['size']} x ZooKeeper {ensemble['zookeeper']}"
    if ensemble.get("java"):
        text += f", Java {ensemble['java']} ({' '.join(ensemble['jvm_flags'])})"
    return f"{text}, {ensemble['backend']}"


def _medium(ensemble: Mapping[str, Any]) -> str:
    text = str(ensemble["medium"])
    if ensemble.get("filesystem"):
        text += f" ({ensemble['filesystem']})"
    return "; ".join((text, *ensemble.get("notes", ())))


def _cpu_share(results: Results) -> str:
    shares = [run["client_cpu_share"] for run in results["runs"]]
    if not shares:
        return "not known"
    saturated = sum(run["saturated"] for run in results["runs"])
    return (
        f"{min(shares):.0%} to {max(shares):.0%} of one core; "
        f"{saturated} of {len(shares)} runs saturated"
    )


def _watches(count: str) -> str:
    return f"{count} watch" if count == "1" else f"{count} watches"


def _times(ratio: float) -> str:
    number = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}".removesuffix(".0")
    return f"{number} times"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _count(spread: Mapping[str, float] | None) -> str:
    """A count that was the same in all repeats, or the range it was in."""
    if spread is None:
        return "?"
    if spread["low"] == spread["high"]:
        return _plain(spread["median"])
    return f"{_plain(spread['low'])}..{_plain(spread['high'])}"


def _percent(spread: Mapping[str, float] | None) -> str:
    return "?" if spread is None else f"{spread['median']:.0%}"


def _one(spread: Mapping[str, float] | None, digits: int = 1) -> str:
    return "?" if spread is None else f"{spread['median']:,.{digits}f}"


def _interval(spread: Mapping[str, float] | None) -> str:
    if spread is None:
        return "?"
    return f"{spread['median']:.1f} ({spread['low']:.1f}..{spread['high']:.1f})"
