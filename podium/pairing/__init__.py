"""Which file or job belongs to which case, for every challenge: by name alone, never by order.

A challenge describes where its predictions stand in a `Layout`; `pair` sorts a submission by it. What belongs to no
expected case is unmatched: named, counted, and no reason to stop.
"""
