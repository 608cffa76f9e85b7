"""torch's own files, read without executing anything in them.

- `torch_zip`, `torch_pickle`: the two formats of torch.save.
- `pickle_scan`: what a pickle would do, found out without doing it; `allowed`: what it may name.
- `storages`: how large the tensors are that it declares.
"""
