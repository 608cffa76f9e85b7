"""One file a command: its options, and what it does with them. No command imports another."""
