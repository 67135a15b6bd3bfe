"""What the figures of a comparison say, in words: the titles, the table, the text beside pictures.

All of it is computed from the plain data of results.json; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.show.table import table
from zkkit.show.wording import lies, many, milliseconds

Results = Mapping[str, Any]
Figure = Mapping[str, Any]

HEADERS = (
    "design",
    "contenders",
    "fires",
    "servers",
    "law of fires",
    "creates",
    "law of creates",
    "useful",
    "overtakings",
    "queueing",
    "wakeups",
    "law of wakeups",
    "requests",
)
TIME_HEADERS = ("design", "contenders", "handoff ms", "p90 ms", "total ms")
_LEGEND = (
    "fires: watch notifications the clients received; servers: the same, counted by the servers",
    "useful: share of wakeups after which the contender got the lock",
    "overtakings: pairs of contenders served in another order than they came",
    "queueing: fires before the gate opened; requests: sent for one acquisition and its release",
    "handoff: from a release to the next grant; median over the repeats, smallest..greatest",
)
_READERS_NOTE = (
    "of N contenders the first W = N/2 (rounded down) write, the other R read; readers get the "
    "lock together, so a handoff to a reader is the one from the last writer"
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
    what = shown(results)
    there = sorted((f for f in figures if f["contenders"] == most), key=lambda f: f[what]["median"])
    contenders = f"With {many(most, 'contender')}"
    verb, things = ("fire", "watch") if what == "fires" else ("wake", "actor")
    least = there[0][what]["median"]
    alike = [f["design"] for f in there if f[what]["median"] < 1.05 * least]
    more = [f for f in reversed(there) if f["design"] not in alike]
    if len(there) == 1:
        count = _of(things, _count(there[0][what]))
        return f"{contenders} the {there[0]['design']} lock {verb}s {count}"
    if not more:
        all_ = "both" if len(there) == 2 else f"all {len(there)}"
        return f"{contenders} {all_} locks {verb} about {_of(things, _plain(least))}"
    ratios = _and([_ratio(f[what]["median"] / least) for f in more])
    return (
        f"{contenders} the {_locks([f['design'] for f in more])} "
        f"{verb}{'s' if len(more) == 1 else ''} {ratios} times as many {_of(things)} "
        f"as the {_locks(alike)}"
    )


def shown(results: Results) -> str:
    """The count that shows a herd. Threads that share a session share its fires: there it is the
    wakeups."""
    return "wakeups" if results["plan"]["population"] == "shared" else "fires"


def alt_text(results: Results) -> str:
    """What the picture shows, for those who do not see it."""
    what = shown(results)
    parts = [f"{title(results)}. Left: {what} against contenders, with the law as a line;"]
    for name in results["plan"]["designs"]:
        mine = [f for f in results["figures"] if f["design"] == name]
        points = ", ".join(f"{_count(f[what])} at {f['contenders']}" for f in mine)
        parts.append(f"{name}: {points};")
    parts.append("right: median handoff in milliseconds;")
    for name in results["plan"]["designs"]:
        mine = [f for f in results["figures"] if f["design"] == name and f["handoff_ms"]]
        points = ", ".join(
            f"{milliseconds(f['handoff_ms']['median'])} at {f['contenders']}" for f in mine
        )
        parts.append(f"{name}: {points};")
    return " ".join(parts).rstrip(";") + "."


def cells(figure: Figure) -> tuple[str, ...]:
    """One row of the table of counts, as text."""
    law = figure["law"]
    return (
        figure["design"],
        str(figure["contenders"]),
        _count(figure["fires"]),
        _count(figure["server_fires"]),
        _bound(law["fires"]),
        _count(figure["creates"]),
        _bound(law["creates"]),
        _percent(figure["useful_share"]),
        _count(figure["overtakings"]),
        _count(figure["queueing_fires"]),
        _count(figure["wakeups"]),
        _bound(law["wakeups"]),
        _each(figure["requests_each"]),
    )


def time_cells(figure: Figure) -> tuple[str, ...]:
    """One row of the table of times, as text."""
    star = "*" if figure["saturated"] else ""
    return (
        figure["design"],
        str(figure["contenders"]),
        _interval(figure["handoff_ms"]) + star,
        _ms(figure["handoff_p90_ms"]) + star,
        _ms(figure["total_ms"]) + star,
    )


def text_table(results: Results) -> str:
    """All figures as aligned text, with what the columns mean."""
    figures = results["figures"]
    counts = table(HEADERS, [cells(f) for f in figures])
    times = table(TIME_HEADERS, [time_cells(f) for f in figures])
    return "\n".join((counts, "", times, "", *notes(results)))


def notes(results: Results) -> list[str]:
    """What the columns mean, and what to know about the figures."""
    found = list(_LEGEND)
    if results["plan"]["readers"]:
        found.append(_READERS_NOTE)
    if any(figure["saturated"] for figure in results["figures"]):
        found.append(SATURATED_NOTE)
    return found


def sign(term: Mapping[str, Any]) -> str:
    """How a count must stand to what this term of a law says."""
    return "=" if term["relation"] == "exactly" else "≤"


def _bound(term: Mapping[str, Any]) -> str:
    return f"{sign(term)} {term['count']:,}"


def ground(results: Results) -> dict[str, str]:
    """What any figures were measured on: servers and machine."""
    machine, ensemble = results["machine"], results["ensemble"]
    load = machine["load_average"]
    return {
        "servers": _servers(ensemble),
        "data": _medium(ensemble),
        "machine": f"{machine['cpu_count']} x {machine['cpu_model']}"
        + (f", load {load[0]} at the end" if load else ""),
        "system": machine["os"],
    }


def facts(results: Results) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan, machine = results["plan"], results["machine"]
    return {
        **ground(results),
        "client": f"{machine['python']}, zkkit {machine['zkkit']}, kazoo {machine['kazoo']}, "
        "all contenders in one process",
        "CPU of the client": _cpu_share(results),
        "plan": f"{many(plan['repeats'], 'repeat')} in {plan['order']} order, each hold "
        f"{plan['hold_ms']:g} ms, seed {plan['seed']}",
        "measured": f"{results['started']}, in {results['seconds']:g} s",
    }


def _servers(ensemble: Mapping[str, Any]) -> str:
    text = f"{ensemble['size']} x ZooKeeper {ensemble['zookeeper']}"
    if ensemble.get("java"):
        text += f", Java {ensemble['java']} ({' '.join(ensemble['jvm_flags'])})"
    return f"{text}, {ensemble['backend']}"


def _medium(ensemble: Mapping[str, Any]) -> str:
    text = lies(ensemble["medium"])
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


def _of(thing: str, count: str = "") -> str:
    """So many watches or actors."""
    many = thing if count == "1" else {"watch": "watches"}.get(thing, f"{thing}s")
    return f"{count} {many}".strip()


def _locks(designs: Sequence[str]) -> str:
    return f"{_and(designs)} lock{'s' if len(designs) > 1 else ''}"


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _ratio(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}".removesuffix(".0")


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


def _each(spread: Mapping[str, float] | None) -> str:
    return "?" if spread is None else f"{spread['median']:,.1f}"


def _ms(spread: Mapping[str, float] | None) -> str:
    return "?" if spread is None else milliseconds(spread["median"])


def _interval(spread: Mapping[str, float] | None) -> str:
    if spread is None:
        return "?"
    middle, low, high = (milliseconds(spread[name]) for name in ("median", "low", "high"))
    return middle if low == high else f"{middle} ({low}..{high})"
