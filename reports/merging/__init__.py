"""From many run folders to one set of entries and records.

- `runs`: `Runs` and `Entry`, on which every table, picture and comparison is built.
- `merge`: `merge`, of shards, too; `identity`: when two runs are of the same thing.
- `reading`: every part is checked; `database`: records by SQL; `counts`: what is counted of them.
- `sessions`: the processes that worked on the runs.
"""
