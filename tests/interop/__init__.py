"""zkkit beside Java Curator and kazoo, on one path."""
