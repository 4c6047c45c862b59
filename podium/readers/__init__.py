"""Hostile files in; plain, checked arrays and values out. Readers know no challenge.

formats/   one module per file format; `registry.py` lists the image formats and recognises which one a file has
archives/  zip and tar archives, unpacked within bounds
hdf5/      plain numeric datasets of HDF5 files, read whole or as a stream of frames

The modules beside them are shared: `files.py` (which files may be opened), `names.py` (how names are shown),
`inflate.py` (bounded unpacking), `images.py` and `volumes.py` (pixels), `labels.py`, `frames.py` (fields too large for
the memory) and `wordnet.py`.
"""
