"""The ids that every vocabulary we train begins with."""

PAD, START, END, UNKNOWN = range(4)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
