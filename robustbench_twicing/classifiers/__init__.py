"""From pixels in [0, 1] to logits: everything between a model's name and a number.

- `loading`: `load_model`, from a name and a checkpoint, made in `making/`; `user_code`: from own
  code.
- `known_models`: what is known of a model that was loaded before.
- `classifier`: `Classifier`, which holds preprocessing, network and `label_layers`.
- `probe`: tokens and attention of every layer, shown while a network computes.
- `gradient`: of the loss at the pixels; `precision`: number formats of the passes.
- `kernels`: faster computing of the same numbers.
- `network_state`: what a network's answers depend on, compared and put back: `snapshots` of the
  network and of torch (`torch_state`).
- `device`: where it computes; `efficiency`: what a forward pass costs, measured by `timing`.
"""

__all__ = [
    "classifier",
    "device",
    "efficiency",
    "gradient",
    "kernels",
    "known_models",
    "label_layers",
    "loading",
    "making",
    "network_state",
    "precision",
    "probe",
    "snapshots",
    "user_code",
]
"""The modules that other rooms may use."""
