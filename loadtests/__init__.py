"""Load on locks, with locust.

    locks.py       the locustfile: `locust -f loadtests/locks.py`
    users.py       an abstract locust user with a ZooKeeper session of its own
    shape.py       the load in held steps; steps.py is its arithmetic
    options.py     the flags, which are the fields of the web page too
    servers.py     the servers a test works on
    trial.py       one test: its servers, its users, what they measured, its verdict
    turns.py       every turn at the lock, to the nanosecond
    figures.py     from turns to figures
    words.py, picture.py, page.py, results.py    from figures to tables, pictures, reports
    interrupt.py   Ctrl-C between two waits, never inside them
    __main__.py    `make load`: two designs, one after the other, in one report

locust patches the standard library for gevent when it is imported. So load tests run as processes
of their own, and only locks.py, users.py and shape.py import locust.
"""
