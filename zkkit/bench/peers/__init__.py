"""Other people's locks, to share a path with and to be measured beside."""
