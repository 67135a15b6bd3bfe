"""What happens to a session that no fault on the wire brings about quickly."""

from __future__ import annotations

import zkkit
from zkkit.session.clock import now


def lapse(session: zkkit.Session) -> None:
    """As if no beat had been answered in time."""
    pulse = session._runner._pulse
    with session._runner._monitor:
        assert pulse.proof is not None
        pulse.proof._state = (pulse.proof.era, now())
        pulse._look_at_the_end()
