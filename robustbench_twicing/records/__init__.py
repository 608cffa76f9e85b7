"""The record of a run: a manifest and Parquet parts of one row per image and condition.

- `run_folder`: `RunFolder`, which holds it all; `manifest`: run.json; `schema`: columns.
- `identity`: when two manifests are of the same run; `first_version`: what older folders leave out.
- `parts`: Parquet files written, read back and checked; `part_files`: which there are; `locks`: who
  works on which part, and who reads.
- `compaction`: few files of many; `failures`: damaged files and error rows, computed again.
- `session`: the work of one process, its machine and versions; `cost`: its passes.
- `adversarial`: images kept for a look; `guessing`: whether answers know anything of the images.
- `sources`: networks whose saved images are for others; `saved_images`: these, read back.
"""

__all__ = [
    "adversarial",
    "compaction",
    "cost",
    "failures",
    "guessing",
    "identity",
    "manifest",
    "part_files",
    "parts",
    "run_folder",
    "schema",
    "session",
    "sources",
]
"""The modules that other rooms may use."""


def __getattr__(name: str) -> object:
    if name == "RunFolder":
        raise ImportError(f"{name} has moved: import it from {__name__}.run_folder")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
