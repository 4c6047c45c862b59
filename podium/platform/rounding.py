"""Published figures may be rounded: whether one still agrees with the exact figure."""

_TOLERANCE = 1e-6  # relative above 1: files may have been written by another version of a numeric library
_FEWEST_DECIMALS = 2  # that published figures are rounded to


def agrees(published: float, exact: float) -> bool:
    """Whether a published figure is the exact one, or this rounded to the decimals that it shows."""
    _, _, decimals = repr(published).partition(".")
    shown = len(decimals) if "e" not in decimals else 16
    rounding = 0.5 * 10.0 ** -max(_FEWEST_DECIMALS, shown)
    return abs(published - exact) <= max(_TOLERANCE * max(1.0, abs(exact)), rounding * (1 + 1e-9))
