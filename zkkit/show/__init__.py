"""Pictures, tables and reports: what results look like to people."""
