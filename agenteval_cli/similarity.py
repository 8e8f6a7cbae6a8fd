"""How alike two texts are, from 0 to 1, by four published measures. None of them knows what a text means.

levenshtein  1 - edits / longer length, over characters (Levenshtein, 1966)
token_f1     harmonic mean of precision and recall over words, as the SQuAD script has it (Rajpurkar et al., 2016)
rouge_l      F-measure of the longest common subsequence of words (Lin, 2004), precision and recall weighing the same
bleu         up to 4-grams, brevity penalty, exponential smoothing (Papineni et al., 2002; Chen and Cherry, 2014, no. 3)

Words are runs of letters and digits, and single signs for BLEU; case is folded for token_f1 and rouge_l.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

LONGEST = 100_000  # characters: what is longer takes seconds to compare
# Scripts that put no spaces between words: Thai to Myanmar, Khmer, kana and Han. Korean has spaces.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_ARTICLES = frozenset({"a", "an", "the"})
_ORDER = 4


def levenshtein(expected: str, actual: str) -> float:
    """1 - edits / length of the longer one."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(expected, actual)


def token_f1(expected: str, actual: str) -> float:
    """Shared words, each as often as both have it, without the articles a, an and the."""
    want, got = (Counter(word for word in _words(text) if word not in _ARTICLES) for text in (expected, actual))
    if not want and not got:  # nothing but signs, as 👍 and 👎: they are alike where they are the same
        return _same(expected, actual)
    return _f1((want & got).total(), want.total(), got.total())


def in_pieces(text: str) -> str:
    """What is written without spaces between words as its pairs of neighbours, so that parts of it can be shared."""
    return UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)


def rouge_l(expected: str, actual: str) -> float:
    """The longest common subsequence of words, held against both lengths."""
    from rapidfuzz.distance import LCSseq

    want, got = _words(expected), _words(actual)
    if not want and not got:
        return _same(expected, actual)
    return _f1(LCSseq.similarity(want, got), len(want), len(got))


def bleu(expected: str, actual: str) -> float:
    """One sentence against one reference; the order of n-grams is that of the answer where it is shorter than four."""
    want, got = _signs(expected), _signs(actual)
    if not got:
        return float(not want)
    logs, smooth = [], 1.0
    for size in range(1, min(_ORDER, len(got)) + 1):
        ours, theirs = _grams(got, size), _grams(want, size)
        hits = (ours & theirs).total()
        if not hits and size == 1:
            return 0.0
        if not hits:
            smooth *= 2
        logs.append(math.log((hits or 1 / smooth) / ours.total()))
    brevity = min(0.0, 1 - len(want) / len(got))
    return math.exp(brevity + sum(logs) / len(logs))


MEASURES: Mapping[str, Callable[[str, str], float]] = MappingProxyType(
    {"levenshtein": levenshtein, "token_f1": token_f1, "rouge_l": rouge_l, "bleu": bleu}
)


def _same(expected: str, actual: str) -> float:
    return float(expected.casefold().split() == actual.casefold().split())


def _words(text: str) -> list[str]:
    text = text.casefold()
    return re.findall(r"[a-z0-9]+", text) if text.isascii() else _words_of_any_script(text)


def _words_of_any_script(text: str) -> list[str]:
    """With the marks that belong to letters: most of the vowels of Hindi and Thai are such."""
    import regex

    found: list[str] = regex.findall(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*", text)
    return found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _signs(text: str) -> list[str]:
    return re.findall(r"[^\W_]+|[^\w\s]|_", text)


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def _f1(shared: int, want: int, got: int) -> float:
    return 2 * shared / (want + got) if shared else 0.0
