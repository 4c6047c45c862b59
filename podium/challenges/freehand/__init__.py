"""TUS-REC: trackerless 3-D freehand ultrasound reconstruction."""
