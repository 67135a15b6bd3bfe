"""Experiments: designs, witnesses, peers, results."""
