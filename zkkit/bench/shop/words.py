"""The shop that oversells, as a table and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zkkit.bench.shop.run import Sale

NAMES = {
    "none": "nothing",
    "in-process": "threading.Lock",
    "herd": "HerdLock",
    "sequential": "ReentrantLock",
}
_COLUMNS: dict[str, Callable[[Sale], str]] = {
    "kept apart by": lambda sale: NAMES[sale.way],
    "sold": lambda sale: str(sale.sold),
    "oversold": lambda sale: str(sale.oversold),
    "shelf says": lambda sale: str(sale.left),
    "last sale after": lambda sale: f"{sale.last_sale_s:.2f} s",
    "all served after": lambda sale: f"{sale.served_s:.2f} s",
    "fires": lambda sale: "?" if sale.fires is None else f"{sale.fires:,}",
}
HEADERS = tuple(_COLUMNS)


def cells(sale: Sale) -> tuple[str, ...]:
    """One row of the table."""
    return tuple(cell(sale) for cell in _COLUMNS.values())


def finding(sales: Sequence[Sale]) -> str:
    """What the shop teaches, in one line."""
    wrong = [f"{_name(sale)} oversells {sale.oversold}" for sale in sales if sale.oversold]
    right = [_name(sale) for sale in sales if not sale.oversold]
    items = max((sale.items for sale in sales), default=0)
    parts = [", ".join(wrong)] if wrong else []
    if right:
        parts.append(f"{' and '.join(right)} sell{'s' if len(right) == 1 else ''} exactly {items}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] if text.startswith("no lock") else text


def words(sales: Sequence[Sale]) -> str:
    """All that the picture shows."""
    lines = [f"{finding(sales)}."]
    for sale in sales:
        fires = "an unknown number of" if sale.fires is None else f"{sale.fires:,}"
        lines.append(
            f"{NAMES[sale.way]}: {sale.sold} sold of {sale.items} in stock to "
            f"{sale.buyers} buyers in {sale.processes} processes, {sale.oversold} too many; all "
            f"served after {sale.served_s:.2f} s; {fires} watches fired."
        )
    return "\n".join(lines)


def _name(sale: Sale) -> str:
    return "no lock" if sale.way == "none" else NAMES[sale.way]
