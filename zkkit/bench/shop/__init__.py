"""The shop that oversells: what keeps buyers of several processes apart, and what does not."""
