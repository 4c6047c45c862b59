"""Case images, prepared for the page: pixels and a few numbers, nothing else."""
