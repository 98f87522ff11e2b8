"""The loops of regions: spanning trees of a map cut into connected groups, and their borders moved."""
