"""Rules on sensitive values and units, enforced on the groups of any method."""
