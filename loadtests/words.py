"""What the figures of a load test say, in words: title, tables, alt text, what it was measured on.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loadtests.figures import PHASES, LoadLine
from loadtests.results import LoadResults
from zkkit.bench.kit import ground
from zkkit.bench.kit.statistics import told
from zkkit.show.table import table
from zkkit.show.wording import many, milliseconds

_tenths, _whole = "{:,.1f}".format, "{:,.0f}".format
_COUNTS: dict[str, Callable[[LoadLine], str]] = {
    "design": lambda line: line.design,
    "users": lambda line: str(line.users),
    "acquisitions/s": lambda line: told(line.per_second, _tenths) + _star(line),
    "fires each": lambda line: told(line.fires_each, _tenths),
    "servers": lambda line: told(line.server_fires_each, _tenths),
    "served": lambda line: f"{told(line.served, _whole)} of {line.users}",
    "longest wait s": lambda line: _longest(line),
    "client CPU": lambda line: f"{line.client_cpu_share.median:.0%}{_star(line)}",
    "servers' CPU": lambda line: _servers(line),
}
COUNT_HEADERS = tuple(_COUNTS)
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


def title(results: LoadResults) -> str:
    """The finding, in one line."""
    lines = [line for line in results.figures if _fires(line) is not None]
    if not lines:
        return "Nothing was measured"
    most = max(line.users for line in lines)
    largest = sorted((ln for ln in lines if ln.users == most), key=lambda ln: _fires(ln) or 0)
    users = f"With {many(most, 'user')}"
    least, greatest = largest[0], largest[-1]
    if least is greatest:
        return (
            f"{users} the {least.design} lock fires {_number(_fires(least))} watches per "
            "acquisition"
        )
    return (
        f"{users} the {greatest.design} lock fires {_number(_fires(greatest))} watches per "
        f"acquisition, the {least.design} lock {_number(_fires(least))}"
    )


def count_cells(line: LoadLine) -> tuple[str, ...]:
    """One row of the first table."""
    return tuple(cell(line) for cell in _COUNTS.values())


def time_cells(line: LoadLine) -> Iterator[tuple[str, ...]]:
    """The rows of the second table: one for each phase of a turn."""
    for phase in PHASES:
        found = line.phase(phase)
        numbers = ["-"] * 4
        if found is not None:
            times = (found.p50.median, found.p90.median, found.p99.median, found.max.high)
            numbers = list(map(milliseconds, times))
        yield (line.design, str(line.users), phase, *(n + _star(line) for n in numbers))


def notes(results: LoadResults) -> list[str]:
    """What must be known to read the tables."""
    lines = results.figures
    found = [*LEGEND, CLOSED_LOOP]
    if any(line.saturated for line in lines):
        found.append(ground.SATURATED_NOTE)
    load, cpus = results.head.machine.load_average, results.head.machine.cpu_count
    if load and load[0] > cpus:
        found.append(
            f"The machine was busier than its {cpus} CPUs (load {load[0]}): the times contain "
            "waiting for a CPU."
        )
    if results.silent:
        found.append(f"The servers' count is missing: {results.silent}".split("\n")[0])
    found += filter(None, map(_apart, lines))
    found += [f"Failed, {count} times: {what}" for what, count in results.failures.items()]
    return found


def text(results: LoadResults) -> str:
    """All figures as aligned text, with what the columns mean."""
    lines = results.figures
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


def alt_text(results: LoadResults) -> str:
    """What the picture shows, for those who do not see it."""
    parts = []
    for line in results.figures:
        handoff = line.handoff_ms
        times = (
            f"handoff {milliseconds(handoff.p50.median)} ms in the median, "
            f"{milliseconds(handoff.p99.median)} ms at the 99th percentile"
            if handoff
            else "no handoff"
        )
        parts.append(
            f"{line.design}, {many(line.users, 'user')}: {_number(_fires(line))} fires per "
            f"acquisition, {times}, {told(line.per_second, _tenths)} acquisitions per second, "
            f"{told(line.served, _whole)} of them served"
        )
    return f"{title(results)}. {'; '.join(parts)}."


def facts(results: LoadResults) -> dict[str, str]:
    """What the figures were measured on, and how."""
    plan, runs, head = results.plan, results.runs, results.head
    held = "as long as it was wanted" if plan.step_s is None else f"{plan.step_s:g} s"
    more = {
        "client": f"{ground.client(head)}, all users in one process (gevent, locust "
        f"{results.locust})",
        "CPU of the client": ground.cpu_of_client(
            [run.client_cpu_share for run in runs], sum(run.saturated for run in runs)
        ),
        "plan": f"{many(plan.repeats, 'run')} of each design"
        + (f" in {plan.order} order" if plan.repeats > 1 else "")
        + f", each step held for {held} once its users are connected, "
        f"each hold at least {plan.hold_ms:g} ms",
    }
    return ground.facts(head, more)


def _fires(line: LoadLine) -> float | None:
    """The fires that the servers counted, independently of us; else those that we counted."""
    found = line.server_fires_each or line.fires_each
    return None if found is None else float(found.median)


def _apart(line: LoadLine) -> str:
    """A note if the two witnesses differ; "" if they do not, or one of them is silent."""
    if line.fires_each is None or line.server_fires_each is None:
        return ""
    ours, theirs = line.fires_each.median, line.server_fires_each.median
    if abs(ours - theirs) <= APART * max(ours, theirs, 1.0):
        return ""
    return (
        f"{line.design}, {many(line.users, 'user')}: the two witnesses differ "
        f"({ours:.2f} and {theirs:.2f} fires per acquisition): does somebody else use these "
        "servers?"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _longest(line: LoadLine) -> str:
    longest = line.longest_wait_ms
    return "?" if longest is None else f"{longest.high / 1e3:.2f}{_star(line)}"


def _servers(line: LoadLine) -> str:
    shares = line.server_cpu_share.values()
    return f"{sum(share.median for share in shares):.0%}" if shares else "?"


def _star(line: LoadLine) -> str:
    return "*" if line.saturated else ""
