"""The connection: kazoo's own beside zkkit's, on the same servers."""
