"""``nkilib.core.utils.kernel_assert``."""

from __future__ import annotations

from ..beta2.tensor import NkiTensor
from ..errors import KernelError

_FRAME = (
    "[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: {} - Please check the validation message and adjust "
    "kernel inputs accordingly"
)


class KernelAssertionError(KernelError, AssertionError):
    """What a failed ``kernel_assert`` raises: an ``AssertionError`` that knows the kernel's line."""


def kernel_assert(condition: object, error_text: str) -> None:
    """Raise :class:`KernelAssertionError` with the library's message around ``error_text`` unless ``condition``
    holds."""
    if not condition:
        raise KernelAssertionError("NCC_INKI016", _FRAME.format(error_text))


def assert_shape(tensor: NkiTensor, expected_shape: tuple[int, ...], tensor_name: str, error_text: str = "") -> None:
    """Check the shape of ``tensor``."""
    kernel_assert(
        tensor.shape == expected_shape,
        f"Received unexpected shape for {tensor_name}. Expected {expected_shape}, received {tensor.shape}. "
        f"{error_text}",
    )
