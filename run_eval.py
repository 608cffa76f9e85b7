#!/usr/bin/env python3
"""Command line of the suite; the same is installed as robustbench-twicing."""

import sys

try:
    from robustbench_twicing.cli.app import main
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] == "robustbench_twicing":
        raise
    sys.exit(
        f"run_eval.py: {sys.executable} has no module {error.name}; after `make demo` or "
        "`make test` it is .venv/bin/python run_eval.py ..., elsewhere first: pip install ."
    )

if __name__ == "__main__":
    sys.exit(main())
