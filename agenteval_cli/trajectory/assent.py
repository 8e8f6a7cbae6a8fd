"""What counts as a yes, where a case does not say: words of five languages, and those that take a yes back."""

from __future__ import annotations

import re
import unicodedata

_YES = """
yes|yeah|yep|yup|sure|ok|okay|go ahead|please do|do it|proceed|confirm|confirmed|i confirm|agreed|absolutely|of course
|ja|jawohl|klar|gerne|einverstanden|bestätigt|ich bestätige|in ordnung|mach das|machen sie das|nur zu
|sí|claro|vale|de acuerdo|adelante|confirmo|confirmado|hazlo|hágalo|por supuesto
|oui|ouais|d'accord|bien sûr|allez-y|vas-y|je confirme|confirmé|entendu|c'est bon
"""
_NO = """
no|not|never|nope|don't|dont|cannot|wait|stop|\\w+n't
|nein|nicht|nie|kein|keine|keinen|warte|warten|stopp
|nunca|jamás|espera|espere|todavía
|non|ne|n'\\w+|pas|jamais|attends|attendez
"""
_YES_JA = "はい|ええ|うん|お願いします|お願いいたします|了解|承知|進めてください|確認しました|大丈夫です|いいです"
_NO_JA = "いいえ|いや|だめ|駄目|やめ|待って|ない|ません"


def _words(european: str, japanese: str) -> re.Pattern[str]:
    """Whole words of the languages that put spaces between them, any place in the other one."""
    listed = european.replace("\n", "")
    return re.compile(rf"(?<!\w)(?:{listed})(?!\w)|{japanese}")


_ASSENTS, _DISSENTS = _words(_YES, _YES_JA), _words(_NO, _NO_JA)
_SENTENCES = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")


def is_yes(text: str) -> bool:
    """Whether a sentence of the text that is no question has a word for yes, and none in all of it a word for no."""
    said = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    if _DISSENTS.search(said):
        return False
    sentences = (found[0].rstrip() for found in _SENTENCES.finditer(said))
    return any(_ASSENTS.search(sentence) for sentence in sentences if not sentence.endswith(("?", "？")))
