"""How much of LIC is learning? Training size, length, objects, and a classifier tuned on each side."""
