"""The cache of pastes."""
