"""The formulas of challenge.toml: parsed once, checked against the declared names, evaluated on numbers and, unchanged,
on arrays of bootstrap replicates.

    expression   numbers, dotted names, + - * / **, parentheses
    functions    mean min max clip sqrt exp log abs harmonic

Nothing else is a formula: no text of a challenge.toml is ever run as Python.
"""
