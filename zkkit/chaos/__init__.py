"""A storm of faults over processes that use recipes, and a verdict on what they were given.

    ground      on what actors stand, the same on threads, on gevent and on asyncio
    scene       which locks there are, and where
    election    an election as a lock: to lead is to hold
    diary       how a process writes down what happens to it
    client      one process: a session and its actors
    actors      what an actor does that takes locks
    selecting   one that is elected, and whose function leads
    counting    those that count
    gates       those that close barriers, and those that come to them
    meetings    those that meet, enter together and leave together
    trees       one that changes a tree, and caches that follow it
    watching    watches that follow it
    crew        the processes, seen from outside: start, kill, stop, disturb, count
    faults      what can be broken
    storm       breaks it, one thing after the other
    ledger      guarded writes, read back from the servers
    remains     looks for what was left behind
    run         all of it, from the first server to the last look
    verdicts    the verdict over what was written down
    experiment  the command, and what is published

What was written down is judged by `zkkit.check.chaos`, which sees only the files.
"""
