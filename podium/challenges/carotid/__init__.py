"""CSV 2026: carotid plaque segmentation and vulnerability."""
