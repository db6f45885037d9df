"""Pastes for an application."""
