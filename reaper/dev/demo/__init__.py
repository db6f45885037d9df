"""A demonstration on embedded servers: pastes, a crash on purpose, and the proof that all is well."""
