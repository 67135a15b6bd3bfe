"""Which backend to take when nobody has said: containers if they can be had, else processes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from zkkit.ensemble import engine
from zkkit.ensemble.errors import EnsembleError

Backend = Literal["auto", "docker", "local"]
BACKENDS: tuple[Backend, ...] = ("auto", "docker", "local")


class Choice(NamedTuple):
    """A backend that is not "auto", and why it was taken."""

    backend: Literal["docker", "local"]
    why: str


def choose(backend: Backend = "auto") -> Choice:
    """Docker if an engine answers and an image can be had, else local; takes seconds at most."""
    if backend != "auto":
        return Choice(backend, "you asked for it")
    try:
        client = engine.connect()
        engine.compose()
        image = engine.image(client)
    except EnsembleError as error:
        return Choice("local", error.message)
    return Choice("docker", f"an engine answers at {engine.endpoint()} and has {image}")
