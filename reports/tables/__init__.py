"""Tables in every format from one kind of table; see `table.py`."""
