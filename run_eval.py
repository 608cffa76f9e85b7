#!/usr/bin/env python3
"""Command line of the suite; the same is installed as robustbench-twicing."""

import sys

from robustbench_twicing.cli import main

if __name__ == "__main__":
    sys.exit(main())
