"""Untrusted files in; plain, checked arrays and values out. Readers know nothing of challenges.

files.py         which files may be opened, how their names are shown, which process decodes them
archives.py      zip and tar archives, unpacked within bounds
text.py          text, JSON, CSV, and tables with the values of many cases
annotations.py   points and boxes
images.py        images and label maps; `volumes.py`: label volumes, block by block
formats/         one module per file format; `formats/__init__.py` recognises which image format a file has
hdf5.py          numeric datasets of HDF5 files, after `hdf5_storage.py` has checked how they are stored
frames.py        fields too large for the memory, read frame by frame; `hdf5_frames.py`: those in HDF5
inflate.py       compressed streams, unpacked within bounds
wordnet.py       synonyms of English words
"""
