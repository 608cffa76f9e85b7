"""What is checked of a network beside its accuracy; no pass of it is charged to a condition.

- `network_guard`: whether an attack left the network as it was.
"""
