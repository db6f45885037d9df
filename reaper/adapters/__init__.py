"""What stands behind the ports: the only package that imports boto3 and redis."""
