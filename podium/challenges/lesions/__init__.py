"""autoPET V: interactive PET/CT lesion segmentation (Dice and DMM over the steps of an interaction).

One case is a sequence of masks, one after every scribble; see docs/lesions.md for the rules and their sources.
"""
