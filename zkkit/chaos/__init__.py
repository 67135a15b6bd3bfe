"""A storm of faults over processes that take locks, and a verdict on what they were given.

    scene       which locks there are, and where
    diary       how a process writes down what happens to it
    client      one process: a session and its actors
    actors      what an actor does, the same on threads, on gevent and on asyncio
    crew        the processes, seen from outside: start, kill, stop, disturb
    faults      what can be broken
    storm       breaks it, one thing after the other
    ledger      guarded writes, read back from the servers
    remains     looks for what was left behind
    run         all of it, from the first server to the last look
    results     the verdict and what is published

What was written down is judged by `zkkit.check.chaos`, which sees only the files.
"""
