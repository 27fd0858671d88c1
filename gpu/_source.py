"""The CUDA text of the kernels: strings made from the dtype table, without CuPy.

A kernel sees words (unsigned integers of an element's size, or of a complex element's part) and compares integer keys;
no floating-point instruction stands anywhere, so CuPy's `-ftz=true` cannot flush a subnormal and no NaN needs care. Of
an element the kernels know three functions, written here for each dtype and operation:

    sm_encode   word -> key, greater for a greater element
    sm_decode   key -> word, one NaN for all
    sm_rank     element -> key for a comparison: NaNs are equal, and for a position the zeros, too

and of a reduction a type `Best`, what a thread has of a segment so far, with `sm_take`, `sm_better` and `sm_put`.
"""

from __future__ import annotations

from .. import _storage
from .._dtypes import BY_NAME, Dtype, Key

#: C types of words and of the keys that stand for them. Keys of 8 and 16 bits live in registers, and in memory that
#: atomicMax works on, as 32 bits.
WORDS = {8: "unsigned char", 16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}


def key_bits(row: Dtype) -> int:
    """Return the size of the keys of a dtype (of its part's, if it is complex) as the kernels hold them."""
    return max(32, part_of(row).bits)


def part_of(row: Dtype) -> Dtype:
    """Return the row of a complex dtype's part, else the row itself."""
    return BY_NAME[row.part] if row.part else row


def value_order(row: Dtype, minimum: bool, omit: bool) -> str:
    """Return the text of `Word`, `Key`, `sm_encode`, `sm_decode` and `sm_nan` (is it NaN?) of a dtype with keys."""
    key = row.key(minimum, omit)
    suffix = "ull" if key.bits == 64 else "u"
    number = {name: f"{getattr(key, name):#x}{suffix}" for name in ("fold", "flip", "turn", "first", "span", "nan")}
    mask = f"{(1 << key.bits) - 1:#x}{suffix}"
    before, after = _recode(row)
    return f"""
typedef {WORDS[key.bits]} Word;
typedef {WORDS[key_bits(row)]} Key;
{before}
__device__ inline Key sm_encode(Word word) {{
    Key bits = {"sm_there(word)" if before else "word"};
    return ((bits ^ (bits >> {key.bits - 1} ? {number["fold"]} : 0) ^ {number["flip"]}) - {number["turn"]}) & {mask};
}}
__device__ inline bool sm_nan(Key key) {{
    return ((key - {number["first"]}) & {mask}) > {number["span"]};
}}
__device__ inline Word sm_decode(Key key) {{
    Key bits = ((key + {number["turn"]}) & {mask}) ^ {number["flip"]};
    bits = sm_nan(key) ? {number["nan"]} : bits ^ (bits >> {key.bits - 1} ? {number["fold"]} : 0);
    return {"sm_back(bits)" if after else "(Word)bits"};
}}
"""


def words_in(row: Dtype) -> int:
    """Return how many words an element has."""
    return 2 if row.part else 1


def _recode(row: Dtype) -> tuple[str, str]:
    """Return the function from a stored byte to one that has a key, and its inverse; empty where bits are keyed."""
    if row.name == "bool":
        there, back = "__device__ inline Key sm_there(Word word) { return word != 0; }", ""
    elif row.recoded:
        tables = [", ".join(str(int(byte)) for byte in table) for table in _storage.recoding(row)]
        there = f"""
__device__ const unsigned char sm_codes[256] = {{{tables[0]}}};
__device__ const unsigned char sm_words[256] = {{{tables[1]}}};
__device__ inline Key sm_there(Word word) {{ return sm_codes[word]; }}
__device__ inline Word sm_back(Key code) {{ return sm_words[code]; }}"""
        back = "sm_back"
    else:
        there = back = ""
    return there, back


def _rank(row: Dtype, minimum: bool, omit: bool, positions: bool) -> str:
    """Return `sm_rank`, `sm_greater` and `sm_missing` (is an element NaN?).

    A NaN is the greatest (`~0`) if it propagates, else the least (0, below every number's key). Complex numbers are
    compared by their real parts, then their imaginary parts, and know one zero, as in NumPy. For positions there is one
    zero, too, and the keys of a rank have 64 bits, so that it lies in memory beside a row without a gap.
    """
    part = part_of(row)
    key = part.key(minimum, omit)
    text = value_order(part, minimum, omit)
    nan = "0" if omit else "~(RankKey)0"
    zero = ""
    if part.order == "sign" and (positions or row.part):
        less, equal = _zero_keys(part, key)
        zero = f"key = key == {less:#x} ? {equal:#x} : key;"
    text += f"""
typedef {"unsigned long long" if positions else "Key"} RankKey;
__device__ inline RankKey sm_rank_part(Word word) {{
    Key key = sm_encode(word);
    {zero}
    return sm_nan(key) ? {nan} : key;
}}
struct Rank {{ RankKey key{", second" if row.part else ""}; }};
"""
    if row.part is None:
        return (
            text
            + """
__device__ inline Rank sm_rank(const Word* x) { return Rank{sm_rank_part(x[0])}; }
__device__ inline bool sm_greater(Rank a, Rank b) { return a.key > b.key; }
__device__ inline bool sm_missing(const Word* x) { return sm_nan(sm_encode(x[0])); }
"""
        )
    return (
        text
        + f"""
__device__ inline bool sm_missing(const Word* x) {{ return sm_nan(sm_encode(x[0])) || sm_nan(sm_encode(x[1])); }}
__device__ inline Rank sm_rank(const Word* x) {{
    bool missing = sm_missing(x);
    return Rank{{missing ? {nan} : sm_rank_part(x[0]), missing ? {nan} : sm_rank_part(x[1])}};
}}
__device__ inline bool sm_greater(Rank a, Rank b) {{
    return a.key > b.key || (a.key == b.key && a.second > b.second);
}}
"""
    )


def _zero_keys(row: Dtype, key: Key) -> tuple[int, int]:
    """Return the keys of -0 and of +0."""
    less, zero = 1 << ((row.used or row.bits) - 1), 0
    if row.recoded:
        return key.encode(row.recode()[less]), key.encode(row.recode()[zero])
    return key.encode(less), key.encode(zero)


#: A segment id as 64 signed bits. Ids beyond that are beyond every number of segments; the greatest stands for them, so
#: that ids in order stay in order.
IDS = """
template <class I> __device__ inline long long sm_id(I id) { return (long long)id; }
__device__ inline long long sm_id(unsigned long long id) {
    return id > 0x7fffffffffffffffull ? 0x7fffffffffffffffll : (long long)id;
}
"""


def reduction(row: Dtype, minimum: bool, omit: bool, positions: bool, masked: bool) -> str:
    """Return the preamble of the kernels that reduce segments, to values or to positions.

    `Best` is a key, or a rank and the row that has it (-1: none yet). `sm_better(a, b)` takes a from earlier rows than
    b, and keeps a where they are equal. Masked kernels ask `where` which elements count.
    """
    counts = "#define sm_counts(at) where[at]\n" if masked else "#define sm_counts(at) true\n"
    if not positions:
        return (
            value_order(row, minimum, omit)
            + IDS
            + counts
            + """
typedef Key Best;
typedef Word Result;
#define sm_start ((Best)start)
__device__ inline Best sm_take(const Word* x, long long row) { return sm_encode(x[0]); }
__device__ inline Best sm_better(Best a, Best b) { return b > a ? b : a; }
__device__ inline Result sm_put(Best best) { return sm_decode(best); }
#define sm_again(result, column) sm_encode(result)
"""
        )
    skipped = "sm_missing(x) ? -1 : row" if omit else "row"
    return (
        _rank(row, minimum, omit, True)
        + IDS
        + counts
        + f"""
struct Best {{ Rank rank; long long row; }};
typedef long long Result;
#define sm_start (Best{{Rank{{}}, -1}})
__device__ inline Best sm_take(const Word* x, long long row) {{ return Best{{sm_rank(x), {skipped}}}; }}
__device__ inline Best sm_better(Best a, Best b) {{
    return b.row >= 0 && (a.row < 0 || sm_greater(b.rank, a.rank)) ? b : a;
}}
__device__ inline Result sm_put(Best best) {{ return best.row; }}
#define sm_again(result, column) \\
    ((result) < 0 ? sm_start : sm_take(&x[((result) * D + (column)) * {words_in(row)}], result))
"""
    )


#: Offsets of the rows of segment s, kept within the rows whatever the ids or offsets are: a binary search ends in
#: bounds for any content.
BOUNDS = {
    "ids": """
template <class Ids> __device__ inline long long sm_count_below(const Ids& ids, long long N, long long id) {
    long long low = 0, high = N;
    while (low < high) {
        long long middle = (low + high) >> 1;
        if (sm_id(ids[middle]) < id) low = middle + 1; else high = middle;
    }
    return low;
}
#define sm_begin(s) sm_count_below(ids, N, s)
""",
    "indptr": """
__device__ inline long long sm_clamp(long long at, long long N) { return at < 0 ? 0 : at > N ? N : at; }
#define sm_begin(s) sm_clamp(sm_id(ids[s]), N)
""",
}

#: One thread for a segment and column: one launch, for few rows.
SMALL = """
    long long s = i / D, column = i - s * D, begin = sm_begin(s), end = sm_begin(s + 1);
    Best best = sm_start;
    for (long long r = begin; r < end; ++r) {
        if (sm_counts(r * D + column)) best = sm_better(best, sm_take(&x[(r * D + column) * WORDS], r));
    }
    out[i] = begin < end ? sm_put(best) : (Result)empty;
"""

#: The segment of row i from CSR offsets: how many offsets are at or before it, less one. Rows before the first and
#: after the last segment get -1 and S.
EXPAND = """
    long long low = 0, high = S + 1;
    while (low < high) {
        long long middle = (low + high) >> 1;
        if (sm_id(indptr[middle]) <= i) low = middle + 1; else high = middle;
    }
    id = low - 1;
"""

#: One thread for R rows of V columns, 4 rows in flight. The thread that holds a segment's last row writes the segment;
#: what it has of a segment that goes on after its rows is a carry. The carries, in order, are a smaller problem of the
#: same kind (`read`, `take` and `put` differ), and no two threads write one element.
_WALK = """
    long long groups = D / V, c = i / groups, column = (i - c * groups) * V;
    long long first = c * R, last = first + R < N ? first + R : N;
    long long current = sm_id(ids[first]);
    bool open = false;
    Best best[V];
    for (int v = 0; v < V; ++v) best[v] = sm_start;
    for (long long block = first; block < last; block += 4) {
        Pack pack[4];
        long long following[4];
        #pragma unroll
        for (int u = 0; u < 4; ++u) if (block + u < last) {
            long long r = block + u;
            pack[u] = @read@;
            following[u] = r + 1 < N ? sm_id(ids[r + 1]) : ~sm_id(ids[r]);
        }
        #pragma unroll
        for (int u = 0; u < 4; ++u) if (block + u < last) {
            long long r = block + u;
            for (int v = 0; v < V; ++v) @take@
            open = following[u] == current;
            if (!open) {
                if (current >= 0 && current < S) {
                    for (int v = 0; v < V; ++v) { @put@ }
                }
                for (int v = 0; v < V; ++v) best[v] = sm_start;
                current = following[u];
            }
        }
    }
    if (column == 0) carry_ids[c] = open && current >= 0 && current < S ? current : -1;
    for (int v = 0; v < V; ++v) reinterpret_cast<Best*>(&carries[0])[c * D + column + v] = best[v];
"""


def _walk(read: str, take: str, put: str) -> str:
    return _WALK.replace("@read@", read).replace("@take@", take).replace("@put@", put)


CHUNK = _walk(
    "*reinterpret_cast<const Pack*>(&x[(r * D + column) * WORDS])",
    """{
                if (sm_counts(r * D + column + v)) best[v] = sm_better(best[v], sm_take(&pack[u].words[v * WORDS], r));
            }""",
    "out[current * D + column + v] = sm_put(best[v]);",
)
MERGE = _walk(
    "reinterpret_cast<const Pack*>(&carried[0])[r * D + column]",
    "best[v] = sm_better(best[v], pack[u]);",
    "Result& result = out[current * D + column + v]; result = sm_put(sm_better(best[v], sm_again(result, column)));",
)


def chunk_pack(row: Dtype, columns: int) -> str:
    """Return what a thread reads at once: the words of some neighbouring elements of a row."""
    words = columns * words_in(row)
    size = words * part_of(row).bits // 8
    return f"""
#define V {columns}
#define WORDS {words_in(row)}
struct __align__({size}) Pack {{ Word words[{words}]; }};
"""


MERGE_PACK = "\n#define V 1\ntypedef Best Pack;\n"

#: One warp for R rows, lane = row: a maximum-scan over the rows of a tile that have the same id, by shuffles. For rows
#: of few bytes (WIDTH columns), where a thread to itself would read a strip of its own.
WARP = """
    const unsigned all = 0xffffffffu;
    long long c = i >> 5, first = c * R, last = first + R < N ? first + R : N;
    int lane = (int)(i & 31);
    long long carried = -2;            // the segment that goes on from the tile before, and its keys
    bool open = false, inside = false;
    Key carry[WIDTH], lanes[WIDTH];    // `lanes`: keys of tiles inside the carried segment, not yet joined
    for (int d = 0; d < WIDTH; ++d) carry[d] = lanes[d] = sm_start;
    for (long long tile = first; tile < last; tile += 32) {
        long long r = tile + lane;
        bool within = r < last;
        long long id = within ? sm_id(ids[r]) : -3;
        Key key[WIDTH];
        for (int d = 0; d < WIDTH; ++d) {
            key[d] = within && sm_counts(r * WIDTH + d) ? sm_better(sm_start, sm_encode(x[r * WIDTH + d])) : sm_start;
        }
        long long following = __shfl_down_sync(all, id, 1);
        if (lane == 31 && r + 1 < N) following = sm_id(ids[r + 1]);
        if (r + 1 >= N) following = ~id;
        bool end = within && following != id;
        if (__all_sync(all, within && id == carried && !end)) {
            for (int d = 0; d < WIDTH; ++d) lanes[d] = sm_better(lanes[d], key[d]);
            inside = true;
            continue;
        }
        if (inside) {
            for (int d = 0; d < WIDTH; ++d) {
                for (int o = 16; o; o >>= 1) lanes[d] = sm_better(lanes[d], __shfl_xor_sync(all, lanes[d], o));
                carry[d] = sm_better(carry[d], lanes[d]);
                lanes[d] = sm_start;
            }
            inside = false;
        }
        long long before = __shfl_up_sync(all, id, 1);
        unsigned heads = __ballot_sync(all, lane == 0 || before != id);
        int head = 31 - __clz((int)(heads & (all >> (31 - lane))));
        int tail = last - 1 - tile < 31 ? (int)(last - 1 - tile) : 31;
        for (int d = 0; d < WIDTH; ++d) {
            for (int o = 1; o < 32; o <<= 1) {
                Key other = __shfl_up_sync(all, key[d], o);
                if (lane - o >= head) key[d] = sm_better(key[d], other);
            }
            if (head == 0 && id == carried) key[d] = sm_better(key[d], carry[d]);
            if (end && id >= 0 && id < S) out[id * WIDTH + d] = sm_put(key[d]);
            carry[d] = __shfl_sync(all, key[d], tail);
        }
        carried = __shfl_sync(all, id, tail);
        open = !__shfl_sync(all, (int)end, tail);
    }
    if (inside) {
        for (int d = 0; d < WIDTH; ++d) {
            for (int o = 16; o; o >>= 1) lanes[d] = sm_better(lanes[d], __shfl_xor_sync(all, lanes[d], o));
            carry[d] = sm_better(carry[d], lanes[d]);
        }
        open = true;
    }
    if (lane == 0) {
        carry_ids[c] = open && carried >= 0 && carried < S ? carried : -1;
        for (int d = 0; d < WIDTH; ++d) reinterpret_cast<Best*>(&carries[0])[c * WIDTH + d] = carry[d];
    }
"""

#: Ids in any order: keys in memory, raised by atomicMax where a first look says that they must be.
SCATTER = """
    long long r = i / D, id = sm_id(ids[r]);
    if (id >= 0 && id < S && sm_counts(i)) {
        Key key = sm_encode(x[i]), *best = &keys[id * D + i - r * D];
        if (key > *(volatile Key*)best) atomicMax(best, key);
    }
"""

#: The same for positions, in steps: the greatest key, of those the greatest second key, of those the first row.
SCATTER_POSITIONS = """
    long long r = i / D, id = sm_id(ids[r]);
    const Word* element = &x[i * WORDS];
    if (id >= 0 && id < S && sm_counts(i) && sm_take(element, r).row >= 0) {
        Rank rank = sm_rank(element);
        long long o = id * D + i - r * D;
        @step@
    }
"""
STEPS = {
    "key": "if (rank.key > *(volatile RankKey*)&keys[o]) atomicMax(&keys[o], rank.key);",
    "second": """
        if (rank.key == keys[o] && rank.second > *(volatile RankKey*)&seconds[o]) {
            atomicMax(&seconds[o], rank.second);
        }""",
    "row": "if (rank.key == keys[o] && r < *(volatile long long*)&rows[o]) atomicMin(&rows[o], r);",
    "row of second": """
        if (rank.key == keys[o] && rank.second == seconds[o] && r < *(volatile long long*)&rows[o]) {
            atomicMin(&rows[o], r);
        }""",
}


def scatter_step(step: str) -> str:
    """Return the body of one step of finding positions for ids in any order."""
    return SCATTER_POSITIONS.replace("@step@", STEPS[step])


#: Complex values from positions (-1: no element counts, -2: no row): the initial element, unless the one found is
#: better.
GATHER = """
    long long row = rows[i], column = i % D;
    Word element[2] = {(Word)start, (Word)start_second};
    if (row >= 0) {
        const Word* found = &x[(row * D + column) * 2];
        if (sm_greater(sm_rank(found), sm_rank(element))) { element[0] = found[0]; element[1] = found[1]; }
    } else if (row == -2) {
        element[0] = (Word)empty;
        element[1] = (Word)empty_second;
    }
    out[2 * i] = element[0];
    out[2 * i + 1] = element[1];
"""

#: Of two elements the greater, of two NaNs the first, with its bits.
ELEMENTWISE = """
    const Word* a = reinterpret_cast<const Word*>(&x);
    const Word* b = reinterpret_cast<const Word*>(&y);
    @condition@ z = sm_second(a, b) ? y : x;
"""


def elementwise(row: Dtype, minimum: bool, omit: bool) -> str:
    """Return the preamble of the elementwise kernels.

    Of equal complex numbers with zeros of two signs, NumPy returns the first, ml_dtypes the second.
    """
    second = "sm_greater(sm_rank(b), sm_rank(a))"
    if row.part and row.package == "ml_dtypes":
        second += " || !(sm_missing(a) || sm_greater(sm_rank(a), sm_rank(b)))"
    return (
        _rank(row, minimum, omit, False)
        + f"""
__device__ inline bool sm_second(const Word* a, const Word* b) {{ return {second}; }}
"""
    )


def elementwise_body(masked: bool) -> str:
    """Return the body of an elementwise kernel; a masked one leaves elements as they are where `where` is false."""
    return ELEMENTWISE.replace("@condition@", "if (where)" if masked else "")


def widen(source: Dtype, wider: Dtype) -> str:
    """Return the body of the exact cast from a narrow IEEE float to a wider one, as integers.

    CuPy's own cast flushes subnormals. A NaN keeps its payload and becomes quiet, as in a cast on the CPU.
    """
    (small, bias), (large, wide_bias) = _fields(source), _fields(wider)
    top, high = 1 << (source.bits - 1), 1 << (wider.bits - 1)
    wide, shift = WORDS[wider.bits], large - small
    return f"""
    {wide} magnitude = x & {top - 1:#x}, sign = x & {top:#x} ? ({wide}){high:#x}ull : 0, bits;
    if (magnitude >= {source.largest:#x}) {{
        bits = ({wide}){wider.largest:#x}ull | (magnitude & {(1 << small) - 1:#x}) << {shift};
        if (magnitude > {source.largest:#x}) bits |= ({wide}){wider.nan:#x}ull;
    }} else if (magnitude >> {small} || {bias} == {wide_bias}) {{
        bits = (magnitude << {shift}) + (({wide}){wide_bias - bias} << {large});
    }} else if (magnitude) {{
        int lead = 31 - __clz((int)magnitude);
        bits = ((magnitude << ({large} - lead)) & ({wide}){(1 << large) - 1:#x}ull)
             | ({wide})(lead + {wide_bias - bias - small + 1}) << {large};
    }} else {{
        bits = 0;
    }}
    z = sign | bits;
"""


def _fields(row: Dtype) -> tuple[int, int]:
    """Return the bits of the fraction of an IEEE float, and the bias of its exponent."""
    infinity = row.largest or 0
    fraction = (infinity & -infinity).bit_length() - 1
    return fraction, (1 << (row.bits - 2 - fraction)) - 1
