"""The caches."""
