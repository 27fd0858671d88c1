"""The page of a report: one file of HTML without anything from elsewhere, made of the document alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfb; --ink: #1d2327; --soft: #626c74; --line: #dfe3e6; --card: #f3f5f6;
  --heat: 44 122 123; --bad: #b42318; --good: #217a4b; }
@media (prefers-color-scheme: dark) { :root { --paper: #15191c; --ink: #e6e9eb; --soft: #9aa5ad; --line: #31383d;
  --card: #1d2327; --heat: 94 190 186; --bad: #ff8a7a; --good: #6fce9b; } }
body { margin: 0 auto; max-width: 76rem; padding: 2.5rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.8rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft { color: var(--soft); }
.verdict { color: var(--good); } .failed .verdict, .bad { color: var(--bad); }
dl.facts { display: flex; flex-wrap: wrap; gap: .3rem 2.4rem; margin: 1.4rem 0 0; }
dl.facts dt { color: var(--soft); font-size: .85rem; } dl.facts dd { margin: 0; font-size: 1.25rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { font-weight: 500; text-align: left; }
.list td, .list th { border-bottom: 1px solid var(--line); padding: .35rem 1.2rem .35rem 0; vertical-align: top; }
.list thead th { color: var(--soft); font-size: .85rem; } .list .number { text-align: right; white-space: nowrap; }
.matrix { font-size: .78rem; line-height: 1.2; } .matrix thead th { vertical-align: bottom; padding: 0 0 .5rem; }
.matrix thead span { writing-mode: vertical-rl; transform: rotate(180deg); margin: 0 auto; display: block; }
.matrix tbody th { padding-right: .8rem; white-space: nowrap; }
.matrix td { min-width: 2.5rem; padding: .22rem .1rem; text-align: center; border: 1px solid var(--paper); }
.matrix .heat { background: rgb(var(--heat) / var(--share)); }
.matrix .wrong { background: var(--bad); color: var(--paper); font-weight: 700; }
details { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); margin: .5rem 0; }
summary { cursor: pointer; padding: .5rem .9rem; } details > :not(summary) { margin: .4rem .9rem .8rem; }
code, pre { font: .84rem/1.5 ui-monospace, monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.list details { margin: .3rem 0 0; } .list pre { max-width: 40rem; }
"""


def render(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    passed = document["passed"]
    name = escape(document["subject"]["name"])
    title = f"{name}: {_count_sentence(document)}"
    parts = [
        f"<h1>segmax verify: <span class='verdict'>{title}</span></h1>",
        f"<p class='soft'>{escape(_list_opponents(document))}</p>",
        _render_facts(document),
        _render_matrix(document),
        _render_differences(document["differences"], document["unexplained"]),
        _render_stale(document["stale"]),
        _render_references(document),
        _render_explained(document["explained"]),
        _render_operations(document),
        _render_pairs("Configuration", document["config"] | {"platform": document["platform"]}),
        _render_pairs("Versions", document["versions"]),
    ]
    body = "\n".join(part for part in parts if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>segmax verify: {title}</title>
<style>{_STYLE}</style>
</head>
<body class="{"passed" if passed else "failed"}">
{body}
</body>
</html>
"""


def _count_sentence(document: Mapping[str, Any]) -> str:
    """Return the verdict."""
    wrong, stale = document["unexplained"], len(document["stale"])
    if document["passed"]:
        return "no unexplained difference"
    texts = [f"{wrong:,} unexplained difference{'s' * (wrong != 1)}"] * bool(wrong)
    texts += [f"{stale} stale {'entries' if stale != 1 else 'entry'}"] * bool(stale)
    return ", ".join(texts)


def _list_opponents(document: Mapping[str, Any]) -> str:
    names = ", ".join(f"{item['name']} ({item['version']})" for item in document["references"])
    missing = f" Not installed: {', '.join(document['missing'])}." if document["missing"] else ""
    return f"Compared bit for bit with {names}.{missing}"


def _render_facts(document: Mapping[str, Any]) -> str:
    seconds = document["seconds"]
    facts = {
        "cases": f"{document['cases']:,}",
        "comparisons": f"{document['comparisons']:,}",
        "explained differences": f"{sum(item['count'] for item in document['explained']):,}",
        "seconds": f"{seconds:,.1f}",
        **{name: str(document["options"][name]) for name in ("seed",) if name in document["options"]},
        **{
            f"only {name}": value
            for name, value in document["options"].items()
            if isinstance(value, str) and value != "*"
        },
        "ended": document["made"].replace("T", " ").removesuffix("+00:00") + " UTC",
    }
    items = "".join(f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items())
    return f"<dl class='facts'>{items}</dl>"


def _render_matrix(document: Mapping[str, Any]) -> str:
    """Return the heat map: comparisons by dtype and family, the darker the more, unexplained differences in red."""
    cells = {(cell["dtype"], cell["family"]): cell for cell in document["cells"]}
    most = max((cell["comparisons"] for cell in cells.values()), default=1)

    def draw(cell: Mapping[str, Any] | None) -> str:
        if cell is None:
            return "<td></td>"
        hint = f"{cell['dtype']}, {cell['family']}: {cell['comparisons']:,} comparisons"
        if cell["unexplained"]:
            hint += f", {cell['unexplained']:,} unexplained differences"
            return f"<td class='wrong' title='{escape(hint)}'>{cell['unexplained']:,}</td>"
        share = 0.08 + 0.52 * math.log1p(cell["comparisons"]) / math.log1p(most)
        return (
            f"<td class='heat' style='--share:{share:.2f}' title='{escape(hint)}'>{shorten(cell['comparisons'])}</td>"
        )

    head = "".join(f"<th scope='col'><span>{escape(family)}</span></th>" for family in document["families"])
    rows = "\n".join(
        f"<tr><th scope='row'>{escape(dtype)}</th>"
        + "".join(draw(cells.get((dtype, family))) for family in document["families"])
        + "</tr>"
        for dtype in document["dtypes"]
    )
    return (
        "<h2>Comparisons by dtype and family</h2>"
        "<p class='soft'>A red cell counts unexplained differences. An empty one was not compared.</p>"
        f"<div class='wide'><table class='matrix'><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def shorten(number: int) -> str:
    """Return a number in at most four characters or so."""
    if number < 1000:
        return str(number)
    digits, unit = (number / 1000, "k") if number < 999_500 else (number / 1_000_000, "M")
    return f"{digits:.1f}{unit}" if digits < 9.95 else f"{digits:.0f}{unit}"


def _render_differences(differences: list[Mapping[str, Any]], number: int) -> str:
    if not number:
        return ""
    items = "\n".join(
        f"<details{' open' if k == 0 else ''}><summary><code>{escape(item['operation'])}</code> "
        f"{escape(item['dtype'])}, {escape(item['family'])}, against {escape(item['reference'])}</summary>"
        f"<p>got <code class='bad'>{escape(item['got'])}</code>, not <code>{escape(item['expected'])}</code></p>"
        + (f"<p>{escape(item['where'])}</p>" if item["where"] else "")
        + f"<pre>{escape(item['replay'])}</pre></details>"
        for k, item in enumerate(differences)
    )
    rest = f"<p class='soft'>The first {len(differences):,} of {number:,}.</p>" if number > len(differences) else ""
    return f"<h2 class='bad'>Unexplained differences</h2>{rest}{items}"


def _render_stale(entries: list[Mapping[str, Any]]) -> str:
    if not entries:
        return ""
    rows = [[item["implementation"], item["operation"], item["does"], item["source"]] for item in entries]
    return (
        "<h2 class='bad'>Stale entries</h2><p>Known deviations that this run did not show: no longer true?</p>"
        + _render_table(["implementation", "operations", "what it was to do", "source"], rows)
    )


def _render_references(document: Mapping[str, Any]) -> str:
    rows = []
    for item in document["references"]:
        declined = "".join(f"<li>{n:,}: {escape(reason)}</li>" for reason, n in item["declined"].items())
        total = sum(item["declined"].values())
        asked = f"<details><summary>{total:,} cases</summary><ul>{declined}</ul></details>" if total else "none"
        rows.append(
            f"<tr><th scope='row'>{escape(item['name'])}</th><td>{escape(item['version'])}</td>"
            f"<td class='number'>{item['comparisons']:,}</td><td class='number'>{item['per_second']:,.0f}</td>"
            f"<td>{asked}</td></tr>"
        )
    rows += [
        f"<tr><th scope='row'>{escape(name)}</th><td colspan='4' class='soft'>{escape(why)}</td></tr>"
        for name, why in document["missing"].items()
    ]
    return (
        "<h2>References</h2><div class='wide'><table class='list'><thead><tr><th>name</th><th>version</th>"
        "<th class='number'>comparisons</th><th class='number'>per second</th><th>not asked</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _render_explained(entries: list[Mapping[str, Any]]) -> str:
    if not entries:
        return ""
    rows = "".join(
        f"<tr><td class='number'>{item['count']:,}</td><td>{escape(item['implementation'])}<br>"
        f"<code class='soft'>{escape(item['operation'])}</code></td>"
        f"<td>{escape(item['does'])}{' (any answer is accepted)' if item['anything'] else ''}"
        f"<details><summary>first case</summary><pre>{escape(item['case'])}</pre></details></td>"
        f"<td>{escape(item['reason'])}</td><td>{_link(item['source'])}</td></tr>"
        for item in entries
    )
    return (
        "<h2>Explained differences</h2><p class='soft'>Known deviations of implementations from the contract, each "
        "predicted to the bit unless it says otherwise.</p><div class='wide'><table class='list'><thead><tr>"
        "<th class='number'>times</th><th>whose</th><th>what it does</th><th>why</th><th>source</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _render_operations(document: Mapping[str, Any]) -> str:
    """Return comparisons by operation and reference."""
    names = [item["name"] for item in document["references"]]
    counts: dict[str, dict[str, int]] = {}
    for item in document["operations"]:
        row = counts.setdefault(item["operation"], dict.fromkeys(names, 0))
        row[item["reference"]] += item["comparisons"]
    rows = [[operation, *(f"{row[name]:,}" for name in names)] for operation, row in sorted(counts.items())]
    table = _render_table(["operation", *names], rows)
    return f"<h2>Operations</h2><details><summary>{len(rows)} operations</summary>{table}</details>" if rows else ""


def _render_pairs(title: str, pairs: Mapping[str, str]) -> str:
    return f"<h2>{title}</h2>" + _render_table([], [[key, value] for key, value in pairs.items()])


def _render_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = "".join(f"<th>{escape(item)}</th>" for item in head)
    top = f"<thead><tr>{titles}</tr></thead>" if titles else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(item)}</td>" for item in row) + "</tr>" for row in rows)
    return f"<div class='wide'><table class='list'>{top}<tbody>{body}</tbody></table></div>"


def _link(source: str) -> str:
    return f"<a href='{escape(source)}'>{escape(source)}</a>" if source.startswith("https://") else escape(source)
