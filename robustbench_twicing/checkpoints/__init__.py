"""From a file to a checked state dict; nothing in the file is executed.

- `reading`: a file, an index with shards or a folder; `pickle/`, `safetensors_files`: the formats.
- `beside/`: what files beside the weights say of the network, its input and its classes.
- `contents`: the weights among what a file holds, `constants` among these; `declared`: the
  architecture that it names.
- `candidates`: models whose `architecture` fits, and `differences` to those that nearly do.
- `layouts`: keys of other code, renamed to those that networks have here; `numbers`: formats.
- `state_dict`: weights into a network, strictly, and their hashes.
- `weights`: from what --checkpoint says to weights: a file, `pretrained`, `bundled`, random;
  `hub`: what the Hugging Face hub publishes.
- `inspection`: all that is known of a file.
"""

__all__ = [
    "architecture",
    "beside",
    "bundled",
    "candidates",
    "contents",
    "declared",
    "hub",
    "inspection",
    "numbers",
    "reading",
    "safetensors_files",
    "state_dict",
    "weights",
]
"""The modules that other rooms may use."""
