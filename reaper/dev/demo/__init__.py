"""A guided tour on embedded services: pastes, a crash on purpose, and the proof that all is well."""
