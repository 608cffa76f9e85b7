"""From many run folders to one set of entries and records.

- `runs`: `Runs`, on which every table, picture and comparison is built; `entry`: `Entry`, a row of
  them, and the name that it is shown under.
- `merge`: `merge`, of shards, too; `identity`: when two runs are of the same thing.
- `reading`: every part is checked and counted; `database`: records by SQL.
- `columns`: records as arrays; `features`: what is counted of each; `blocks`, `tally`: sums over
  some images, and over all; `counts`: what they are of one entry.
- `ensembles`: attacks on the same images; `strongest`: the worst case of each of these; `nearest`:
  how near it was found.
- `sessions`: the processes that worked on the runs.
"""
