"""Whether what was measured can be trusted, and whether zkkit's connection is as fast as asked."""

from __future__ import annotations

from zkkit.bench.connection.cells import ConnectionSpeeds
from zkkit.bench.connection.figures import ConnectionFigure, figures
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.peers.cells import ZKKIT
from zkkit.bench.peers.comparison import doubted, told_ratio


def judge(speeds: ConnectionSpeeds) -> Judgement:
    """Broken if a whole interval lies below what is asked."""
    doubt = doubted(speeds, "connection")
    if doubt is not None:
        return doubt
    asked = [figure for figure in figures(speeds) if figure.row.asked is not None]
    missed = [_told(figure) for figure in asked if not _reaches(figure)]
    if missed:
        return Judgement("broken", f"zkkit is not as fast as asked: {first_of(missed, 2)}.")
    reached = "; ".join(map(_told, asked))
    return Judgement(
        "holds",
        f"The figures count: in all {len(speeds.cells)} cells every operation was answered, and "
        f"the servers bear it out. zkkit is as fast as asked: {reached}.",
    )


def _reaches(figure: ConnectionFigure) -> bool:
    assert figure.row.asked is not None
    return figure.ratios[ZKKIT].high >= figure.row.asked


def _told(figure: ConnectionFigure) -> str:
    ratio = told_ratio(figure.ratios[ZKKIT])
    return f"{figure.row.name}, {ratio} times as fast as kazoo, {figure.row.asked:.2f} asked"
