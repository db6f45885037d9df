"""Applications that use reaper."""
