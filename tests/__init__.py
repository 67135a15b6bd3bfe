"""The tests. What several directories of them share is in `tests.support`."""
