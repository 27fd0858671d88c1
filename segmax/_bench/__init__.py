"""`segmax bench`: segment_max side by side with every peer that is installed. Nothing imports it until it is asked for.

problem.py      what is computed: a few words, from which every process makes the same arrays
peers.py        who computes it: one small adapter per contender
worker.py       the process of one package, which makes, compares and times when told to
rounds.py       the round-robin over all processes, and what comes out of it
report.py       table and JSON
plot.py         heat map and curves
elementwise.py  the ufuncs against NumPy's
command.py      the options
"""
