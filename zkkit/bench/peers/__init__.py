"""Other libraries as peers, each in its own process, and what comparisons with them need."""
