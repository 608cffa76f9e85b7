"""From options as they are typed to a request: models, data sets and conditions, checked.

- `request`: `make_request`, which puts together what the others make; `transfer`: a request to
  score images of other models.
- `conditions`, `constants`, `corruptions`: what is done to the images; `data_sets`: where they are.
- `tasks`: each data set with its conditions; `models`: the networks.

Commands import these modules when they run: --help needs no torch.
"""
