"""Named measures: siblings behind one interface. registry.py has them by name; only what needs one loads them."""
