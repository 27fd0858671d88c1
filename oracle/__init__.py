"""segmax.oracle: the judge that compares implementations with references, case by case, bit by bit."""
