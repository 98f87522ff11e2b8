"""What a person reads, and the same facts as JSON. Column names and counts, never a cell."""
