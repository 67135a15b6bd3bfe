"""Recipes beside kazoo's and Java Curator's: elections, counters, barriers, caches."""
