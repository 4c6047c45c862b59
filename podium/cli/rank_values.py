"""What the values of `podium rank`'s options may be."""

import argparse
from collections.abc import Callable
from typing import Any


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value


def inner_share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return value


def assignments(read: Callable[[str], Any]) -> Callable[[str], dict[str, Any]]:
    """`name=value,...`; a name may hold a `=`, a value does not."""

    def parse(text: str) -> dict[str, Any]:
        found = {}
        for part in text.split(","):
            name, equals, value = part.rpartition("=")
            if not equals or not name.strip():
                raise argparse.ArgumentTypeError(f"'{part}' is not NAME=VALUE")
            found[name.strip()] = read(value.strip())
        return found

    return parse


def finite(text: str) -> float:
    from podium.figures import finite_number

    try:
        value = finite_number(float(text))
    except ValueError:
        value = None
    if value is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a finite number")
    return value


def weight(text: str) -> float:
    value = finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"the weight {text} is not positive")
    return value


def directions(text: str) -> dict[str, Any]:
    """`dice=higher,hd95=lower`; one word alone, which stands under the empty name, means all other metrics."""
    from podium.ranking.tables.reading import as_direction

    def read(word: str) -> str:
        found = as_direction(word)
        if found is None:
            raise argparse.ArgumentTypeError(f"'{word}' is neither 'higher' nor 'lower'")
        return found

    parts = text.split(",")
    alone = [part.strip() for part in parts if "=" not in part]
    named = [part for part in parts if "=" in part]
    if len(alone) > 1:
        raise argparse.ArgumentTypeError(f"'{alone[0]}' and '{alone[1]}' are both meant for all metrics")
    found = assignments(read)(",".join(named)) if named else {}
    return {"": read(alone[0]), **found} if alone else found
