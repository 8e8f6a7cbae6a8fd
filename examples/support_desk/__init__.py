"""The support desk of Kettle & Co: a rule-based agent over a small SQLite shop."""
