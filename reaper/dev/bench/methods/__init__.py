"""The methods that are compared: the floor, what users write by hand, and reaper."""
