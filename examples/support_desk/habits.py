"""Chance that can be repeated: what happens for one seed always happens for it."""

from hashlib import sha256


def happens(what: str, seed: int, percent: int) -> bool:
    drawn = int.from_bytes(sha256(f"{what}:{seed}".encode()).digest()[:4])
    return drawn % 100 < percent
