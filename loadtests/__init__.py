"""Load on locks, with locust.

    locks.py       the locustfile: `locust -f loadtests/locks.py`
    users.py       an abstract locust user with a ZooKeeper session of its own
    shape.py       the load in held steps; schedule.py is its arithmetic
    options.py     the flags, which are the fields of the web page too
    servers.py     the servers a test works on
    trial.py       one test: its servers, its users, what they measured, its verdict
    turns.py       every turn at the lock, to the nanosecond
    interrupt.py   Ctrl-C between two waits, never inside them
    experiment.py  two designs, one after the other, in one report: `zkkit bench load`
    figures.py, results.py, words.py, picture.py    from turns to figures to reports
    __main__.py    `make load`, which is the same

locust patches the standard library for gevent when it is imported. So load tests run as processes
of their own, and only locks.py, users.py and shape.py import locust.
"""
