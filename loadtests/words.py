"""What the figures of a load test say, in words: title, tables, alt text, what it was measured on.

All of it is computed from the plain data of results.json; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadtests.figures import PHASES
from zkkit.show import findings
from zkkit.show.table import table
from zkkit.show.wording import many, milliseconds

Results = Mapping[str, Any]
Line = Mapping[str, Any]

COUNT_HEADERS = (
    "design",
    "users",
    "acquisitions/s",
    "fires each",
    "servers",
    "served",
    "longest wait s",
    "client CPU",
    "servers' CPU",
)
TIME_HEADERS = ("design", "users", "phase", "p50 ms", "p90 ms", "p99 ms", "max ms")
LEGEND = (
    "fires each: watch notifications per acquisition, as the clients received them; servers: the "
    "same, counted by the servers",
    "served: users that got the lock at all while the step was held; longest wait: also of those "
    "still waiting at its end",
    "CPU: share of one core; of the servers, all members together",
    "wait: from asking to the grant; handoff: from one user's letting go to the next user's grant; "
    "hold: grant to letting go; release: until the server's answer",
    "with several runs: medians over the runs; (a..b) are the smallest and the greatest",
)
CLOSED_LOOP = (
    "Each user asks again only after it was served (a closed loop): a slower design is also asked "
    "less often, so compare the waits together with the acquisitions per second."
)
APART = 0.05
"""If the two witnesses differ by more than this part, somebody else uses the servers."""


def title(results: Results) -> str:
    """The finding, in one line."""
    lines = [line for line in results["figures"] if _fires(line) is not None]
    if not lines:
        return "Nothing was measured"
    most = max(line["users"] for line in lines)
    there = sorted((ln for ln in lines if ln["users"] == most), key=lambda ln: _fires(ln) or 0)
    users = f"With {many(most, 'user')}"
    least, greatest = there[0], there[-1]
    if least is greatest:
        return (
            f"{users} the {least['design']} lock fires {_number(_fires(least))} watches per "
            "acquisition"
        )
    return (
        f"{users} the {greatest['design']} lock fires {_number(_fires(greatest))} watches per "
        f"acquisition, the {least['design']} lock {_number(_fires(least))}"
    )


def count_cells(line: Line) -> tuple[str, ...]:
    """One row of the first table."""
    star = "*" if line["saturated"] else ""
    servers = line["server_cpu_share"].values()
    longest = line["longest_wait_ms"]
    return (
        line["design"],
        str(line["users"]),
        _spread(line["per_second"]) + star,
        _spread(line["fires_each"]),
        _spread(line["server_fires_each"]),
        f"{_spread(line['served'], 0)} of {line['users']}",
        "?" if longest is None else f"{longest['high'] / 1e3:.2f}{star}",
        _percent(line["client_cpu_share"]) + star,
        f"{sum(s['median'] for s in servers):.0%}" if servers else "?",
    )


def time_cells(line: Line) -> Iterator[tuple[str, ...]]:
    """The rows of the second table: one for each phase of a turn."""
    star = "*" if line["saturated"] else ""
    for phase in PHASES:
        found = line[f"{phase}_ms"]
        numbers = ["-"] * 4
        if found is not None:
            numbers = [milliseconds(found[name]["median"]) for name in ("p50", "p90", "p99")]
            numbers.append(milliseconds(found["max"]["high"]))
        yield (line["design"], str(line["users"]), phase, *(n + star for n in numbers))


def notes(results: Results) -> list[str]:
    """What must be known to read the tables."""
    lines = results["figures"]
    found = [*LEGEND, CLOSED_LOOP]
    if any(line["saturated"] for line in lines):
        found.append(findings.SATURATED_NOTE)
    load, cpus = results["machine"]["load_average"], results["machine"]["cpu_count"]
    if load and load[0] > cpus:
        found.append(
            f"The machine was busier than its {cpus} CPUs (load {load[0]}): the times contain "
            "waiting for a CPU."
        )
    if results.get("silent"):
        found.append(f"The servers' count is missing: {results['silent']}".split("\n")[0])
    found += [_apart(line) for line in lines if _differ(line)]
    found += [f"Failed, {count} times: {what}" for what, count in results["failures"].items()]
    return found


def text(results: Results) -> str:
    """All figures as aligned text, with what the columns mean."""
    lines = results["figures"]
    if not lines:
        return "Nothing was measured: no step was held."
    return "\n".join(
        (
            table(COUNT_HEADERS, [count_cells(line) for line in lines]),
            "",
            table(TIME_HEADERS, [row for line in lines for row in time_cells(line)]),
            "",
            *notes(results),
        )
    )


def alt_text(results: Results) -> str:
    """What the picture shows, for those who do not see it."""
    parts = []
    for line in results["figures"]:
        handoff = line["handoff_ms"]
        times = (
            f"handoff {milliseconds(handoff['p50']['median'])} ms in the median, "
            f"{milliseconds(handoff['p99']['median'])} ms at the 99th percentile"
            if handoff
            else "no handoff"
        )
        parts.append(
            f"{line['design']}, {many(line['users'], 'user')}: {_number(_fires(line))} fires per "
            f"acquisition, {times}, {_spread(line['per_second'])} acquisitions per second, "
            f"{_spread(line['served'], 0)} of them served"
        )
    return f"{title(results)}. {'; '.join(parts)}."


def facts(results: Results) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan = results["plan"]
    found = findings.facts({**results, "plan": {**plan, "seed": "none"}})
    found["plan"] = (
        f"{many(plan['repeats'], 'run')} of each design"
        + (f" in {plan['order']} order" if plan["repeats"] > 1 else "")
        + f", each step held for {_seconds(plan['step_s'])} once its users are connected, "
        f"each hold at least {plan['hold_ms']:g} ms"
    )
    found["client"] += f" (gevent, locust {results['locust']})"
    return found


def _seconds(step: float | None) -> str:
    return "as long as it was wanted" if step is None else f"{step:g} s"


def _fires(line: Line) -> float | None:
    """By the servers' count, which is independent of us; else by our own."""
    found = line["server_fires_each"] or line["fires_each"]
    return None if found is None else float(found["median"])


def _differ(line: Line) -> bool:
    ours, theirs = line["fires_each"], line["server_fires_each"]
    if ours is None or theirs is None:
        return False
    a, b = ours["median"], theirs["median"]
    return bool(abs(a - b) > APART * max(a, b, 1.0))


def _apart(line: Line) -> str:
    return (
        f"{line['design']}, {many(line['users'], 'user')}: the two witnesses differ "
        f"({line['fires_each']['median']:.2f} and {line['server_fires_each']['median']:.2f} fires "
        "per acquisition): does somebody else use these servers?"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _spread(spread: Mapping[str, float] | None, digits: int = 1) -> str:
    if spread is None:
        return "?"
    middle, low, high = (f"{spread[name]:,.{digits}f}" for name in ("median", "low", "high"))
    return middle if low == high else f"{middle} ({low}..{high})"


def _percent(spread: Mapping[str, float] | None) -> str:
    return "?" if spread is None else f"{spread['median']:.0%}"


def designs(lines: Sequence[Line]) -> list[str]:
    """The designs of these lines, each once, in their order."""
    return list(dict.fromkeys(line["design"] for line in lines))
