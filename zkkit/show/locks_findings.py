"""How fast locks are, in words: the title, the tables, the text beside the picture.

All of it is computed from the plain data of results.json; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zkkit.show.findings import Figure, Results, ground
from zkkit.show.table import table
from zkkit.show.wording import many

LEGEND = (
    "acquisitions in a second, median over the repeats; zkkit : other is the ratio of these rates,",
    "above 1 zkkit is faster; in brackets an interval of the median, by order statistics.",
)
CPU_LEGEND = (
    "CPU microseconds for one acquire and release, over all repeats; client busy: of one core;",
    "machine busy: of all cores, by this client and the servers.",
)
PROFILE_LEGEND = (
    "the client's CPU microseconds of the table above, by the part of the program that used them,",
    "as samples of a run apart tell; the rest of the time it waits for the servers.",
)
SATURATED_NOTE = (
    "* the client used over 90 % of one core: the rate tells more about the Python interpreter "
    "than about the lock."
)
_STALL = 1.0  # seconds that no acquire of a session alone takes while all is well
_SURE = 0.9  # an interval of less confidence makes a title say "about"

Rows = Sequence[Sequence[str]]


def title(results: Results) -> str:
    """The finding, in one line: the mutex, where most sessions contend."""
    mutexes = [f for f in results["figures"] if f["kind"] == "mutex"]
    if not mutexes or not mutexes[-1]["ratios"]:
        return "Nothing was measured"
    most = mutexes[-1]
    ratios = " and ".join(_times(*one) for one in most["ratios"].items())
    return f"{_where(most)} zkkit acquires {ratios}"


def _where(figure: Figure) -> str:
    number = figure["sessions"]
    return f"With {number} sessions on one mutex" if number > 1 else "An uncontended mutex:"


def _times(name: str, ratio: Mapping[str, float]) -> str:
    """How often, if the interval allows to say so."""
    other = full_name(name)
    if ratio["low"] <= 1 <= ratio["high"]:
        return f"about as often as {other}"
    about = "" if ratio["confidence"] >= _SURE else "about "
    return f"{about}{ratio['median']:.2f} times as often as {other}"


def alt_text(results: Results) -> str:
    """What the picture shows, for those who do not see it."""
    parts = [f"{title(results)}. zkkit's rate over the other's, with an interval;"]
    for figure in results["figures"]:
        ratios = ", ".join(f"{n} {_ratio(r)}" for n, r in figure["ratios"].items())
        parts.append(f"{row_name(figure)}: {ratios};")
    return " ".join(parts).rstrip(";") + "."


# --- tables -----------------------------------------------------------------------------


def tables(results: Results) -> Iterator[tuple[str, Sequence[str], Rows, Sequence[str]]]:
    """Heading, column names, rows and notes of each table."""
    yield "Speed", *_speed(results)
    yield "CPU", *_cpu(results)
    if results["profiles"]:
        yield "Where the time goes", *_profile(results)


def text(results: Results) -> str:
    """All tables as aligned text, with what the columns mean."""
    return "\n\n".join(
        "\n".join((heading, "", table(head, rows), "", *notes))
        for heading, head, rows, notes in tables(results)
    )


def markdown(results: Results) -> str:
    """All tables in Markdown, to be pasted, and what they were measured on."""
    parts = []
    for heading, head, rows, notes in tables(results):
        lines = [_line(head), _line(["---", *["---:"] * (len(head) - 1)]), *map(_line, rows)]
        parts.append("\n".join((f"**{heading}:** {' '.join(notes)}", "", *lines)))
    parts.append("\n".join(f"- {name}: {value}" for name, value in conditions(results).items()))
    return "\n\n".join(parts) + "\n"


def _line(cells: Sequence[str]) -> str:
    plain = (cell.replace("*", r"\*") for cell in cells)
    return f"| {' | '.join(plain)} |"


def _speed(results: Results) -> tuple[Sequence[str], Rows, Sequence[str]]:
    peers = results["plan"]["peers"]
    others = peers[1:]
    head = ("lock", *(f"{p} /s" for p in peers), *(f"zkkit : {p}" for p in others))
    rows = [
        (
            row_name(figure),
            *(_rate(figure["peers"][peer]) for peer in peers),
            *(_ratio(figure["ratios"].get(peer)) for peer in others),
        )
        for figure in results["figures"]
    ]
    notes = list(LEGEND)
    if any(peer["saturated"] for f in results["figures"] for peer in f["peers"].values()):
        notes.append(SATURATED_NOTE)
    return head, rows, [*notes, *_stalls(results)]


def _stalls(results: Results) -> Iterator[str]:
    """Where a session alone stood still: the rate of that one cell tells nothing."""
    for run in results["runs"]:
        longest = max(run["longest_acquire_s"], run["longest_release_s"])
        if run["sessions"] == 1 and longest > _STALL:
            yield (
                f"{run['peer']} stood still for {longest:.1f} s at {run['kind']}, repeat "
                f"{run['repeat'] + 1}: see ZOOKEEPER-4537 in docs/bench-locks.md."
            )


def _cpu(results: Results) -> tuple[Sequence[str], Rows, Sequence[str]]:
    servers = sorted(
        {name for f in results["figures"] for p in f["peers"].values() for name in p["server_us"]}
    )
    head = ("lock", "client", *servers, "client busy", "machine busy")
    rows = [
        (
            f"{row_name(figure)}, {name}",
            _us(peer["client_us"]),
            *(_us(peer["server_us"][server]) for server in servers),
            _share(peer["client_share"]),
            _share(peer["machine_share"]),
        )
        for figure in results["figures"]
        for name, peer in figure["peers"].items()
    ]
    return head, rows, CPU_LEGEND


def _profile(results: Results) -> tuple[Sequence[str], Rows, Sequence[str]]:
    profiles = results["profiles"]
    parts = sorted(
        {part for one in profiles for part in one["parts_us"]},
        key=lambda part: -sum(one["parts_us"].get(part, 0.0) for one in profiles),
    )
    head = ("part", *(f"{one['peer']}, {_sessions(one)}" for one in profiles))
    rows = [
        (part, *(_part(one["parts_us"].get(part, 0.0), one["client_us"]) for one in profiles))
        for part in parts
    ]
    rows.append(("all", *(f"{one['client_us']:,.0f}" for one in profiles)))
    rows.append(("samples", *(f"{one['samples']:,}" for one in profiles)))
    return head, rows, PROFILE_LEGEND


def _part(part_us: float, all_us: float) -> str:
    return f"{part_us:,.0f} ({part_us / all_us:.0%})" if part_us else "-"


def _us(microseconds: float | None) -> str:
    return "?" if microseconds is None else f"{microseconds:,.0f}"


def _share(part: float | None) -> str:
    return "?" if part is None else f"{part:.0%}"


def _rate(peer: Mapping[str, Any]) -> str:
    return f"{peer['rate']['median']:,.0f}{'*' if peer['saturated'] else ''}"


def _ratio(ratio: Mapping[str, float] | None) -> str:
    if ratio is None:
        return "?"
    return f"{ratio['median']:.2f} ({ratio['low']:.2f}..{ratio['high']:.2f})"


def _sessions(one: Figure) -> str:
    return many(one["sessions"], "session")


def row_name(figure: Figure) -> str:
    """One line of the comparison, for people."""
    alone = figure["sessions"] == 1
    return f"{figure['kind']}, {'uncontended' if alone else _sessions(figure)}"


def full_name(peer: str) -> str:
    """A peer, for people."""
    return "Java Curator" if peer == "Curator" else peer


def conditions(results: Results) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan, versions = results["plan"], results["versions"]
    shares = [ratio["confidence"] for f in results["figures"] for ratio in f["ratios"].values()]
    clients = ", ".join(f"{name} {version}" for name, version in versions.items())
    return {
        **ground(results),
        "clients": f"{clients}; each in a process of its own, on {results['machine']['python']}"
        + (f" or Java ({' '.join(results['peer_flags'])})" if "Curator" in versions else ""),
        "plan": f"{many(plan['repeats'], 'repeat')} of {plan['cell_seconds']:g} s, "
        f"{plan['order']}, seed {plan['seed']}, nothing done while holding",
        "intervals": f"sure to {min(shares):.0%}" if shares else "none",
        "measured": f"{results['started']}, in {results['seconds']:g} s",
    }
