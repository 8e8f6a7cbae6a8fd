"""Simulated users: a command, an endpoint or a script behind one interface."""
