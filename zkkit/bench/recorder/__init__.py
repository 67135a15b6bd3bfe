"""The recorder's cost: for one event, and as a share of an acquire."""
