"""Two matrices times a factor plus a shift: the options travel in dictionaries."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def scaled(src, dst, **options):
    """dst = src * factor + shift, (P, F) each."""
    factor = options["factor"]
    shift = options.get("shift", 1.0)
    if shift is None:
        shift = 0.0
    product = nl.multiply(nl.load(src), factor, dtype=nl.float32)
    nl.store(dst, value=nl.add(product, shift, dtype=nl.float32))


def both(src, dst, **options):
    """The matrices one by one: for the second, the shift is another."""
    scaled(src[0], dst[0], **options)
    if options.get("steps"):
        options["shift"] = 5.0
    scaled(src[1], dst[1], **options)


@nki.jit
def shifted(x, factor=0.5, steps=True, **unused):
    """x (2, P, F) gives (2, P, F)."""
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    options = {
        "factor": factor,
        "steps": steps,
    }
    both(x, out, **options)
    return out
