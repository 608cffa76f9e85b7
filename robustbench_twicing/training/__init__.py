"""Train the models of the table.

- `session`: `train`; `recipe`, `recipes`: how; `task`: what; `start`: from which weights.
- `zoo`: all bundled models.
- `learner`: a step; `batches`: augmented images; `scoring`: accuracy after an epoch.
- `folder`, `form`: what a training leaves behind, and goes on from; `progress`: what it tells.
"""

__all__ = ["progress", "recipes", "session"]
"""The modules that other rooms may use."""
