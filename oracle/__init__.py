"""segmax.oracle: the judge of implementations of a segment maximum; `segmax verify` is its command."""
