"""How numbers and places are said, the same in every picture, table and text."""

from __future__ import annotations

_MICROSECOND = 3  # digits behind the point of a millisecond; finer than that nothing is measured
_PARTICIPLES = {
    "set", "refused", "created", "lost", "sent", "put", "taken", "done", "(unknown)",
}  # fmt: skip


def milliseconds(value: float) -> str:
    """Three significant digits, as more would be noise: 0.345, 3.45, 34.5, 345, 12,300."""
    if not value:
        return "0"
    exponent = int(f"{value:.2e}".partition("e")[2])  # of the rounded value: 9.999 is 10.0
    digits = 2 - exponent
    return f"{round(value, digits):,.{min(max(digits, 0), _MICROSECOND)}f}"


def many(number: int, what: str) -> str:
    """A number of things: 1 fire, 2 fires, 2 watches set."""
    if number == 1:
        return f"1 {what}"
    head, _, rest = what.partition(" ")
    if rest in _PARTICIPLES:  # two watches set, two nodes created
        return f"{number:,} {head}{'es' if head.endswith('ch') else 's'} {rest}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("ry") else f"{number:,} {what}s"


def lies(medium: str) -> str:
    """Where servers keep their data, to be said after "data": in memory, on disk."""
    if medium.startswith("unknown"):
        return medium.replace("unknown", "on an unknown medium", 1)
    return "in memory" if medium == "memory" else f"on {medium}"
