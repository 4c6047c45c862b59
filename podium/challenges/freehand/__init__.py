"""TUS-REC: trackerless 3-D freehand ultrasound reconstruction (GPE, GLE, LPE, LLE and their scores).

One case is one scan; see docs/freehand.md for the rules, the files and contradictions between the documents.
"""
