"""Numbers of other works, with their sources."""
