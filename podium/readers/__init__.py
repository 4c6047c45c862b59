"""Untrusted files in; plain, checked arrays and values out. Readers know nothing of challenges.

files.py         which files may be opened, how their names are shown
decoding.py      which process decodes a submitted file
archives.py      zip and tar archives, unpacked within bounds
text.py          text, JSON, CSV, and tables with the values of many cases
annotations.py   points and boxes
images.py        images and label maps; `volumes.py`: label volumes, block by block
formats/         one module per file format; `formats/__init__.py` recognises which image format a file has
hdf5.py          numeric datasets of HDF5 files; `hdf5_storage.py`: where their values are, and the values themselves
frames.py        fields too large for the memory, read frame by frame
inflate.py       compressed streams, unpacked within bounds
wordnet.py       synonyms of English words
"""
