"""The loops of forest: trees of nearest neighbours grown, and cut into groups."""
