"""Every word that pages and claims can contain: a tokenizer should know each as one piece."""

from __future__ import annotations

import functools

from lisax.world import names, phrases
from lisax.world.facts import format_number

_GLUE = (
    "who that is was a an and of the The She He It Her His sister brother namesake Return to River Mount "
    "Battle Siege by"
)


@functools.cache
def words() -> tuple[str, ...]:
    """The closed vocabulary, sorted, without punctuation: about 2,000 words, the same for every world."""
    texts = [
        _GLUE,
        *(word for part in names.vocabulary().values() for word in part),
        *names.TOWN_PREFIXES,
        *names.INDUSTRIES,
        *names.CLUB_WORDS,
        *phrases.PROFESSIONS,
        *(word.capitalize() for word in names.ADJECTIVES + names.NOUNS + names.ANIMALS),
        *phrases.COMPANIONS.values(),
        *phrases.NOUN_OF_KIND.values(),
        *map(str, phrases.FILLER_YEARS),
    ]
    for relation in (relation for kind in phrases.RELATIONS.values() for relation in kind):
        texts += [
            *relation.page,
            *relation.claim,
            *relation.inverse,
            relation.question,
            relation.noun,
            relation.more,
            relation.less,
            relation.more_than,
            relation.less_than,
        ]
        texts += [format_number(v) if relation.draw == "number" else str(v) for v in relation.values]
    texts += [filler for fillers in phrases.FILLERS.values() for filler in fillers]
    every = {
        word.strip(".,?()") for text in texts for word in text.split() if not (word.startswith("{") and len(word) < 5)
    }
    return tuple(sorted(every - {""}))
