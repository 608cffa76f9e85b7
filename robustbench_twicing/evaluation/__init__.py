"""The run loop: models, data sets, conditions, and what becomes of every image.

Read it in this order:

- `tasks`: a data set and its conditions; `validation`: what is refused before any work.
- `manifest`: what run.json says; `options`: how it is computed, and which parts a process takes.
- `standing/`: how far a run is that was begun, for which no network is needed.
- `runner`: the loop over models, data sets and parts; parts that are there are kept.
- `part`: one range of images under all conditions: `clean_step`, `attack_step`, `corruption_step`.
- `survivors`: attacks on those images alone that no attack before has fooled.
- `class_subsets`: the clean pass over other classes; `checks/`: of the network.
- `rows`: from scores to rows of the record; `out_of_memory`: a batch that is halved.
- `progress`: what is told of finished work; `distributed`: the processes of torchrun.
- `clean_accuracy`: of one file under each model that it could be.
"""

__all__ = [
    "clean_accuracy",
    "clean_step",
    "corruption_step",
    "distributed",
    "options",
    "part",
    "progress",
    "runner",
    "standing",
    "tasks",
    "validation",
]
"""The modules that other rooms may use."""
