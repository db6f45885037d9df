"""What demo, tests and benchmark use; a production install imports none of it."""
