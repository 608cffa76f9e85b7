"""Counting the fused attention kernels that a network calls."""

from torch.utils._python_dispatch import TorchDispatchMode


class FusedKernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the calls of scaled_dot_product_attention's kernels."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.calls += "_scaled_dot_product" in str(func)
        return func(*args, **(kwargs or {}))
