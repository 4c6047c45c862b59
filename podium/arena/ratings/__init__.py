"""From votes to ratings: Elo, Bradley-Terry, intervals, ranks and the stop rule."""
