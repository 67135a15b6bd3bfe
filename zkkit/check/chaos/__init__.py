"""Did locks, elections, counters, barriers and caches keep their word in a storm of faults? Judged
by files alone.

The processes of `zkkit chaos` write down what they ask for, what they are given and what their
holds say of themselves; the one that breaks things writes down what it broke; and what guarded
writes left on the servers is written down as well. This package reads those files (`history`) and
looks for broken promises (`properties`; of what is no lock `counters`, `caches`, `watches`,
`gates` and `meetings`). It
knows nothing of what it judges: it imports nothing of zkkit but itself.
"""
