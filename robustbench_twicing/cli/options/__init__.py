"""Options as they are declared, with their help; none of these modules needs torch.

- A module for each panel of `eval --help-all`: `evaluated`, `attacked`, `corrupted`,
  `preprocessing` and `run`; `printed`, which commands that only read runs take as well.
- `evaluation`: all panels of an evaluation together, and groups of its options.
- `command`: a command that takes some of them.
"""
