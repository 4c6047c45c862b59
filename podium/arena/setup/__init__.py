"""`podium arena init`: from a ranking, the submissions and the case images to a new arena."""
