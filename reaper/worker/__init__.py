"""The process that runs the jobs."""
