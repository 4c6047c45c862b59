"""Untrusted files are decoded in processes that can do nothing else, and only bytes come back.

The danger: images and HDF5 files are read by large libraries in C, and a submitted file may exploit a bug in one of
them to run code of its own, which would read the references or forge the results. Each part of it is handled once:

main      starts the zygotes and the workers (`client.py`: `decoders`)
zygote    a program that has a reader package loaded and nothing secret; forks the decoders (`zygote.py`)
decoder   locks itself in (`lock.py`), then reads the files of one case that it is given (`server.py`)
worker    scores; requests what is in a file, and checks every reply (`client.py`, `wire.py`)

A decoder that dies is replaced once per file. A zygote that dies ends the run. Which layers the lock has depends on the
kernel: Landlock, seccomp and resource limits.
"""
