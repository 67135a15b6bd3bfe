"""User code that scripts ask for by `Call`.

It must be deterministic: it is called once for each point of a script at which it is asked for, and
once more in the end, to see.
"""

from __future__ import annotations

from typing import Any

from .errors import Impure
from .scripts import Moment, alike, endless
from .watchdog import Activity, Stuck

Outcome = tuple[Any, BaseException | None]


class UserCode:
    """Calls it, and knows what it gave."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._called: dict[Moment, Outcome] = {}

    def call(self, moment: Moment) -> Outcome:
        """What the code asked for at this moment gives, or raises."""
        known = self._called.get(moment)
        if known is None:
            known = self._called[moment] = self._run(moment)
        return known

    def _run(self, moment: Moment) -> Outcome:
        step = moment.step
        activity = self._activity
        activity.count += 1
        activity.inside = True
        try:
            return step.function(*step.args), None
        except Stuck as stuck:
            raise endless(stuck) from None
        except (Exception, SystemExit) as error:
            return None, error.with_traceback(None)
        finally:
            activity.inside = False

    def raised(self, error: BaseException) -> bool:
        """Whether user code raised it: no bug of the script."""
        return any(error is raised for _, raised in self._called.values())

    def check_purity(self) -> None:
        """Call all of it once more; Impure if something gives another result."""
        for moment, outcome in list(self._called.items()):
            again = self._run(moment)
            if not alike(outcome, again):
                shown = [value if error is None else error for value, error in (outcome, again)]
                raise Impure(
                    f"user code is not a function of its arguments: {moment.step!r} at "
                    f"{moment.where} gave {shown[0]!r}, and then {shown[1]!r}",
                    hint="in the simulator let Call run something that gives the same every time",
                )
