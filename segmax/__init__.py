"""segmax: the fastest, most exactly verified maximum in the Python array world."""

from ._dispatch import show_config
from ._threads import get_num_threads, num_threads, set_num_threads

__all__ = ["get_num_threads", "num_threads", "set_num_threads", "show_config"]
