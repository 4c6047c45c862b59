"""RadFact by an LLM judge, offline: a container without a network cannot compute it.

The engine is radfact-lite; this package asks each of its questions once, retries after errors, and counts failures.
"""
