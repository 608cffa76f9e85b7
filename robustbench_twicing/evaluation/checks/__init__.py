"""What is checked of a network beside its accuracy; no pass of it is charged to a condition.

- `first_part`: the flags of a network, from the images of the first part.
- `answers`: whether they depend on how they are asked for; `agreement`: when two are equal.
- `logits`: probabilities, few digits, ties.
- `first_order`: whether gradients lead where they point.
- `input_conventions`: other pixels that a network at chance may have been trained on.
- `network_guard`: whether an attack left the network as it was.
"""
