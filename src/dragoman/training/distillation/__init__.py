"""Distillation: a student learns from the translations and the distributions of teachers (Kim and Rush 2016).

    options.py         the options `[teacher]` of a recipe
    distributions.py   the teachers' distributions for a tokenised text, on disk; imports no torch
    teach.py           how they are computed
    loss.py            the distributions in a batch; the loss is `training/step/loss.py`

A whole run is needed to find teachers and to translate with them: `training/runs/text/teachers.py`,
`training/runs/text/translations.py`.
"""
