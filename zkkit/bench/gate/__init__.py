"""The gate's law: designs of a lock under contention, counted by two witnesses."""
