"""What is done to the images.

- `budgets`: exact fractions, as they are written; `threat_model`: what an attack may
  do, and protocols; `ball`: the check that it did.
- `distances`: how far an image was changed.
- `condition`: `Condition`, one thing done to the images, with a stable id.
- `charges`: which passes a run charges to which condition.
- `recorded`: how run.json writes and reads what is in it; `About`, which reports need to know.
- `attack_batch`: what an attack is given.
- `suites`: ordered lists of conditions, as YAML files.
"""

__all__ = [
    "attack_batch",
    "ball",
    "budgets",
    "charges",
    "condition",
    "distances",
    "recorded",
    "suites",
    "threat_model",
]
"""The modules that other rooms may use."""
