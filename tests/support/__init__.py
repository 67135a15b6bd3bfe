"""What the tests of several directories share; what users' tests need as well is in zkkit.testing.

fronts        one way to drive sessions on threads, asyncio, gevent and kazoo
fixtures      for every family of recipes: front, open_session, witness, left_clean and others
flights       what a recipe costs
sessions      a session that nothing proves any more
rooms         a room that only so many may be in, and its visitors
ensembles     backends, and what the servers say about watches
processes     processes and ports of this machine
certificates  of servers and clients, for TLS
"""
