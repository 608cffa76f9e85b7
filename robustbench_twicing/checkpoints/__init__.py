"""From a file to a checked state dict; nothing in the file is executed.

- `reading`: a file, an index with shards or a folder; `pickle/`, `safetensors_files`: the formats.
- `config_file`, `processor`: what files beside the weights say of the network and its input.
- `contents`: the weights among what a file holds; `declared`: the architecture that it names.
- `candidates`: models whose `architecture` fits, and `differences` to those that nearly do.
- `layouts`: keys of other code, renamed to those that networks have here.
- `state_dict`: weights into a network, strictly, and their hashes.
- `weights`: from what --checkpoint says to weights: a file, `pretrained`, `bundled`, random.
- `inspection`: all that is known of a file.
"""

__all__ = [
    "architecture",
    "bundled",
    "candidates",
    "config_file",
    "contents",
    "declared",
    "inspection",
    "reading",
    "safetensors_files",
    "state_dict",
    "weights",
]
"""The modules that other rooms may use."""
