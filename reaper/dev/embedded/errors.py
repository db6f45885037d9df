"""What can go wrong with an embedded service."""


class EmbeddedError(Exception):
    """A service could not be found or started; the message says what to do."""
