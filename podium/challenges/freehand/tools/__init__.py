"""What organisers and participants of the freehand challenge do beside the evaluation: prepare, pack, plot."""
