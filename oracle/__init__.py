"""segmax.oracle: the judge of implementations of a segment maximum. Nothing is built here yet."""
