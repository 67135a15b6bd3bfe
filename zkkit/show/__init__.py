"""Pictures, tables and reports: what results look like to people.

show.draw(verdict.story)        a story of the simulator, as a picture that shows itself
"""

from zkkit.show.sim_story import Drawing, draw

__all__ = ["Drawing", "draw"]
