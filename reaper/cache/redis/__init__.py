"""The cache and the claim lock on Redis."""
