"""Two generations of a cache over the same tree and the same changes: what each costs."""
