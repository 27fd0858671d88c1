"""The compiled room: max expressions and loops, expanded from templates and compiled once per CPU level.

    order.h              the order-preserving keys and the loops over one row of data, in C with `restrict`
    scan.h               segmented maximum of a column inside vector registers, one form per CPU level
    rows.h               rows of up to 32 bytes, a register each
    elementwise.h        maximum and minimum of float32 and float64 by the processor's own comparison
    segment.pyx.tp       the segment reductions: blocks of rows, order check, gaps, threads
    elementwise.pyx.tp   the inner loops of the ufuncs and their registration with NumPy

Data flows one way, api -> storage -> dispatch -> kernel, and nothing here imports another module of segmax.
"""
