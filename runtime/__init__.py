"""The emulator: NKI kernels executed on bytes at addresses, in the Beta 1 and in the Beta 2 dialect."""
