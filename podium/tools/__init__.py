"""What people run around the container: ranking, pages, arena, judge, simulation, batch runs, other platforms."""
