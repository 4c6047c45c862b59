"""RadFact by an LLM judge, offline: what no container without a network can compute.

The engine is radfact-lite; this package asks its questions: once each, patiently, and counting what goes wrong.
"""
