"""What the command `analyze` is made of.

- `options`: its options, `maps` those of maps of attention.
- `inputs`: networks and images, of run folders too; `under`: what is done to the images.
- `files`: its tables, pictures, and lines on the terminal.

The command imports all but `options` and `maps` when it runs: --help needs no torch.
"""
