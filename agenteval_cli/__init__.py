"""agenteval: test cases for AI agents, kept in git, run with care, compared honestly."""

__version__ = "0.1.0"
