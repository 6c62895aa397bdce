"""The files of one run: imports, calls, classes, bindings; which code is a kernel's, and which is the host's."""
