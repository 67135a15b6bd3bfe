"""What the figures of a comparison say, in words: the titles, the table, the text beside pictures.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zkkit.bench.gate.figures import Bound, GateFigure, GateResults
from zkkit.bench.kit import ground
from zkkit.bench.kit.statistics import Spread, middle, told
from zkkit.bench.laws import Term
from zkkit.show.table import table
from zkkit.show.wording import many, milliseconds

_COUNTS: dict[str, Callable[[GateFigure], str]] = {
    "design": lambda f: f.design,
    "contenders": lambda f: str(f.contenders),
    "fires": lambda f: _count(f.fires),
    "servers": lambda f: _count(f.server_fires),
    "law of fires": lambda f: _bound(f.law["fires"]),
    "creates": lambda f: _count(f.creates),
    "law of creates": lambda f: _bound(f.law["creates"]),
    "useful": lambda f: middle(f.useful_share, "{:.0%}".format),
    "overtakings": lambda f: _count(f.overtakings),
    "queueing": lambda f: _count(f.queueing_fires),
    "wakeups": lambda f: _count(f.wakeups),
    "law of wakeups": lambda f: _bound(f.law["wakeups"]),
    "requests": lambda f: middle(f.requests_each, "{:,.1f}".format),
}
HEADERS = tuple(_COUNTS)
TIME_HEADERS = ("design", "contenders", "handoff ms", "p90 ms", "total ms")
_LEGEND = (
    "fires: watch notifications the clients received; servers: the same, counted by the servers",
    "useful: share of wakeups that got the contender what it waited for",
    "overtakings: pairs of contenders served in another order than they came",
    "queueing: fires before the gate opened; requests: sent for one acquisition and its release",
    "handoff: from a release to the next grant; median over the repeats, smallest..greatest",
)
_READERS_NOTE = (
    "of N contenders the first W = N/2 (rounded down) write, the other R read; readers get the "
    "lock together, so a handoff to a reader is the one from the last writer"
)
_ELECTIONS_NOTE = "to acquire is to stand and lead, to release is to leave"


def title(results: GateResults) -> str:
    """The finding, in one line."""
    if not results.figures:
        return "Nothing was measured"
    what = shown(results)
    largest = sorted(results.of_most(), key=lambda f: f.count(what).median)
    contenders = f"With {many(largest[0].contenders, 'contender')}"
    verb, things = ("fire", "watch") if what == "fires" else ("wake", "actor")
    least = largest[0].count(what).median
    alike = [f.design for f in largest if f.count(what).median < 1.05 * least]
    more = [f for f in reversed(largest) if f.design not in alike]
    if len(largest) == 1:
        count = _of(things, _count(largest[0].count(what)))
        return f"{contenders} {_locks(results, [largest[0].design])} {verb}s {count}"
    if not more:
        all_ = "both" if len(largest) == 2 else f"all {len(largest)}"
        return f"{contenders} {all_} designs {verb} about {_of(things, _plain(least))}"
    ratios = _and([_ratio(f.count(what).median / least) for f in more])
    return (
        f"{contenders} {_locks(results, [f.design for f in more])} "
        f"{verb}{'s' if len(more) == 1 else ''} {ratios} times as many {_of(things)} "
        f"as {_locks(results, alike)}"
    )


def shown(results: GateResults) -> str:
    """The count that shows a herd. Threads that share a session share its fires: there it is the
    wakeups."""
    return "wakeups" if results.plan.population == "shared" else "fires"


def alt_text(results: GateResults) -> str:
    """What the picture shows, for those who do not see it."""
    what, names = shown(results), [design.name for design in results.plan.designs]
    parts = [f"{title(results)}. Left: {what} against contenders, with the law as a line;"]
    for name in names:
        mine = results.of_design(name)
        points = ", ".join(f"{_count(f.count(what))} at {f.contenders}" for f in mine)
        parts.append(f"{name}: {points};")
    parts.append("right: median handoff in milliseconds;")
    for name in names:
        points = ", ".join(
            f"{milliseconds(f.handoff_ms.median)} at {f.contenders}"
            for f in results.of_design(name)
            if f.handoff_ms
        )
        parts.append(f"{name}: {points};")
    return " ".join(parts).rstrip(";") + "."


def cells(figure: GateFigure) -> tuple[str, ...]:
    """One row of the table of counts, as text."""
    return tuple(cell(figure) for cell in _COUNTS.values())


def time_cells(figure: GateFigure) -> tuple[str, ...]:
    """One row of the table of times, as text."""
    star = "*" if figure.saturated else ""
    p90, total = (middle(time, milliseconds) for time in (figure.handoff_p90_ms, figure.total_ms))
    times = (told(figure.handoff_ms, milliseconds), p90, total)
    return (figure.design, str(figure.contenders), *(time + star for time in times))


def text_table(results: GateResults) -> str:
    """All figures as aligned text, with what the columns mean."""
    figures = results.figures
    counts = table(HEADERS, [cells(f) for f in figures])
    times = table(TIME_HEADERS, [time_cells(f) for f in figures])
    return "\n".join((counts, "", times, "", *notes(results)))


def notes(results: GateResults) -> list[str]:
    """What the columns mean, and what to know about the figures."""
    found = list(_LEGEND)
    if results.plan.readers:
        found.append(_READERS_NOTE)
    if results.plan.elections:
        found.append(_ELECTIONS_NOTE)
    if any(figure.saturated for figure in results.figures):
        found.append(ground.SATURATED_NOTE)
    return found


def sign(term: Bound | Term) -> str:
    """How a count must stand to what this term of a law says."""
    return "=" if term.relation == "exactly" else "≤"


def _bound(bound: Bound) -> str:
    return f"{sign(bound)} {bound.count:,}"


def facts(results: GateResults) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan, head, runs = results.plan, results.head, results.runs
    more = {
        "client": f"{ground.client(head)}, all contenders in one process",
        "CPU of the client": ground.cpu_of_client(
            [run.client_share for run in runs], sum(run.saturated for run in runs)
        ),
        "plan": f"{many(plan.repeats, 'repeat')} in ABBA order, each hold "
        f"{plan.hold * 1e3:g} ms, seed {plan.seed}",
    }
    return ground.facts(head, more)


def _of(thing: str, count: str = "") -> str:
    """A number of watches or actors, in words."""
    many = thing if count == "1" else {"watch": "watches"}.get(thing, f"{thing}s")
    return f"{count} {many}".strip()


def _locks(results: GateResults, designs: Sequence[str]) -> str:
    """These designs; a name such as election-herd says itself what it is."""
    if results.plan.elections:
        return _and(designs)
    return f"the {_and(designs)} lock{'s' if len(designs) > 1 else ''}"


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _ratio(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}".removesuffix(".0")


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _count(spread: Spread | None) -> str:
    """A count that was the same in all repeats, or the range it was in."""
    if spread is None:
        return "?"
    if spread.low == spread.high:
        return _plain(spread.median)
    return f"{_plain(spread.low)}..{_plain(spread.high)}"
