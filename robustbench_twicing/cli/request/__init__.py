"""From options as they are typed to a request: models, data sets and conditions, checked.

- `options`: those of an evaluation, with their help; `command`: a command that takes them;
  `output`: those of what is printed.
- `request`: `make_request`, which puts together what the others make.
- `conditions`, `constants`, `corruptions`: what is done to the images; `data_sets`: where they are.
- `measuring`: what `plan` measures on a few images.
- `analysis`: the options of an analysis, `attention_maps` those of its maps; `analysis_inputs`: its
  networks and images, of run folders too; `under`: what is done to the images.
- `tasks`: each data set with its conditions; `models`: the networks.

Commands import all but `options`, `analysis`, `attention_maps` and `command` when they run: --help
needs no torch.
"""
