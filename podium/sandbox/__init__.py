"""Untrusted files are decoded in processes that can do nothing else, and only bytes come back.

Four processes take part in reading the submitted files of a case:

main      starts the zygotes and the workers
zygote    a program that has a reader package loaded and nothing secret; forks the decoders (`zygote.py`)
decoder   locks itself in (`lock.py`), then reads the files of one case that it is given (`decoder.py`)
worker    scores; asks a decoder for what is in the file and checks every answer (`decoders.py`, `wire.py`)

Which layers the lock has depends on the kernel: Landlock, seccomp and resource limits.
"""
