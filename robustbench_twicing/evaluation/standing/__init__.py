"""How far a run is, before anything of it is computed.

- `look`: the run folder opened, and what is left to do in it; for that no network is needed.
- `same_images`: whether the images of finished parts are what they were.
"""
