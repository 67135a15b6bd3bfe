"""The locks: one contract over all kinds and fronts, faults, defects of peers, twins."""
