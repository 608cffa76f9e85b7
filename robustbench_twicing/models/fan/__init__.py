"""FAN (arXiv 2204.12451): attention over tokens, then a gate on every channel.

- `network`: the whole network; `stem`, `block`: its parts.
- `token_mixing`, `channel_processing`, `channel_norm`: the parts of a block.
- `old_keys`: state dicts of early checkpoints.
"""
