"""Archives that a participant packed: zip and tar, bounded and free of tricks."""
