"""HDF5 files: plain, local, numeric datasets only."""
