"""Small `tokenizer.json` files of each kind, trained here."""

import re
from collections import Counter
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [f"The harbour of town {n} was opened in {1900 + n} by Anna Müller, number {n * 7}." for n in range(200)]


def wordpiece(path: Path, size: int = 220) -> Path:
    """As BERT's: padding is 0, pairs are `[CLS] a [SEP] b [SEP]` with types. The pieces are characters and the most
    frequent words: the library's trainer finds other ones each time."""
    normalizer = normalizers.BertNormalizer()
    words = Counter(re.findall(r"\w+|[^\w\s]", normalizer.normalize_str(" ".join(TEXTS))))
    letters = sorted(set("".join(words)))
    frequent = sorted((word for word in words if len(word) > 1), key=lambda word: (-words[word], word))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *frequent]
    vocabulary = {piece: number for number, piece in enumerate(pieces[:size])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(special)
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(4)  # as published files have it; it must be left out
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(path))
    return path


def bpe(path: Path) -> Path:
    """As RoBERTa's: bytes, padding is 1, pairs are `<s> a </s></s> b </s>` without types."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.save(str(path))
    return path


def unigram(path: Path) -> Path:
    """As T5's: padding is 0, each text has its `</s>`."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    tokenizer.save(str(path))
    return path
