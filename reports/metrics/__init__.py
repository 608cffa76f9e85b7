"""From records to numbers, and what is to be said of them.

- `results`: results.csv; `row_budget`: its budgets and steps; `row_flags`: what its flags say of
  model, data and run.
- `sweeps`: what a sweep of budgets says beyond its points.
- `worst`: the worst case over all attacks; `broken_alone`: images that one attack alone breaks.
- `radii`: distances to the nearest adversarial example, and the exact curves that they give.
- `transfer`: how far images that were made on one network fool another.
- `diagnostics`: signs that a number misleads; `flags`: what each flag means.
- `notes`: what a reader must know, in sentences; `failures`: what was not scored;
  `preprocessing`: how images became input.
"""
