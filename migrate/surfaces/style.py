"""The style of the HTML report: light and dark as the reader's system is, down to the width of a telephone."""

STYLE = """
:root {
  --paper: #ffffff; --card: #f6f8fa; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --link: #0969da;
  --equal: #1a7f37; --different: #cf222e; --undecided: #9a6700; --error: #8250df;
  --added: #dafbe1; --removed: #ffebe9; --added-mark: #a6f0b6; --removed-mark: #ffc1bc; --hunk: #ddf4ff;
  --light: 62%; --strength: 60%;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0d1117; --card: #161b22; --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --link: #4493f8;
    --equal: #3fb950; --different: #f85149; --undecided: #d29922; --error: #ab7df8;
    --added: #12261e; --removed: #2d1619; --added-mark: #1f572d; --removed-mark: #7a2226; --hunk: #131d2e;
    --light: 58%; --strength: 55%;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.5rem; margin: .5rem 0 1rem; }
h1, p, figcaption, .notes, .legend { overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h5 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: .3rem 0; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
section { margin-top: 2rem; }
section.file { border-top: 1px solid var(--line); padding-top: 1.2rem; }
code, pre, .diff { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { overflow-x: auto; margin: .4rem 0; padding: .6rem .8rem; background: var(--card); border-radius: 6px; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 6px; padding: 0 .8rem; }
summary { cursor: pointer; padding: .45rem 0; overflow-wrap: anywhere; }
details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: .5rem; }
details[open] { padding-bottom: .6rem; }
.scroll { overflow-x: auto; }
.note, .notes, footer { color: var(--soft); font-size: .87rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
.origin { margin: 0 0 1rem; font-size: .87rem; } .origin th { text-align: left; color: var(--soft); font-weight: 500; }
.origin td { padding-left: 1rem; overflow-wrap: anywhere; }
.filter { font-size: .87rem; } label.filter { margin-right: .9rem; color: var(--tone); }
.figures { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0 0 .8rem; }
.figure {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem; min-width: 6.5rem;
}
.figure dt { font-size: .8rem; color: var(--soft); }
.figure dd { margin: 0; font-size: 1.6rem; font-weight: 600; line-height: 1.2; }
.equal, .unchanged { --tone: var(--equal); } .different, .failed { --tone: var(--different); }
.undecided, .skipped { --tone: var(--undecided); } .error { --tone: var(--error); } .changed { --tone: var(--link); }
.legal { --tone: var(--equal); } .not.legal { --tone: var(--different); }
.none { --tone: var(--soft); color: var(--soft); }
.figure dd { color: var(--tone); }
.badge {
  display: inline-block; color: var(--tone); border: 1px solid var(--tone); border-radius: 1rem; padding: 0 .55rem;
  font-size: .78rem; font-weight: 600; white-space: nowrap; vertical-align: middle;
}
table { border-collapse: collapse; }
.overview { width: 100%; font-size: .9rem; }
.overview th, .overview td { text-align: left; padding: .25rem .6rem .25rem 0; vertical-align: top; }
.overview thead th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
.overview tr.path > * { padding-top: .7rem; vertical-align: middle; font-weight: 600; }
.overview tbody td:first-child { overflow-wrap: anywhere; }
.overview tr.case td:first-child { padding-left: 1rem; }
.timings td { padding: .15rem .8rem .15rem 0; }
.timings .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
meter { width: min(20rem, 40vw); }
.places { padding-left: 1.1rem; overflow-wrap: anywhere; }
.plus { color: var(--equal); } .minus { color: var(--different); }
@counter-style line { system: extends decimal; pad: 5 " "; }
.hunk, .diff { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; tab-size: 4; }
.hunk { background: var(--hunk); color: var(--soft); margin: .6rem 0 0; padding: 0 .5rem; }
.diff { margin: 0; overflow-x: auto; display: grid; }
.diff dd, .diff dt { margin: 0; padding-right: .5rem; }
.diff dt { counter-increment: old; background: var(--removed); }
.diff dd { counter-increment: new; background: var(--added); }
.diff div dd { counter-increment: old new; background: none; }
.diff dd::before, .diff dt::before { color: var(--soft); }
.diff dt::before { content: counter(old, line) "       - "; }
.diff dd::before { content: "      " counter(new, line) " + "; }
.diff div dd::before { content: counter(old, line) " " counter(new, line) "   "; }
.diff dd mark { background: var(--added-mark); } .diff dt mark { background: var(--removed-mark); }
mark { color: inherit; border-radius: 2px; }
figure { margin: .8rem 0 1rem; }
figcaption { font-size: .87rem; }
.maps { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; }
.map { flex: 1 1 24rem; min-width: 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 10px system-ui, sans-serif; fill: var(--soft); }
svg text.y { text-anchor: end; }
svg text.label { fill: #000000; pointer-events: none; }
svg line { stroke: var(--line); }
.frame { fill: var(--card); stroke: var(--line); }
.tile { fill-opacity: .75; stroke: var(--paper); stroke-width: .5; }
.tile.moved { stroke: var(--different); stroke-width: 2; }
.tile:hover { fill-opacity: 1; stroke: var(--ink); stroke-width: 1.5; }
.legend {
  display: flex; flex-wrap: wrap; gap: .1rem 1rem; list-style: none; margin: .4rem 0 0; padding: 0; font-size: .8rem;
}
.swatch { display: inline-block; width: .75rem; height: .75rem; border-radius: 2px; margin-right: .35rem; }
"""

OUTCOMES = (
    *("equal", "different", "undecided", "error", "changed", "unchanged", "skipped", "failed", "legal", "not-legal"),
)
STYLE += "".join(
    f"#show-is-{word}:not(:checked) ~ .is-{word}, #show-is-{word}:not(:checked) ~ * .is-{word} {{ display: none; }}\n"
    for word in OUTCOMES
)

_HUES = (210, 30, 130, 340, 265, 55, 180, 0, 300, 95, 235, 155)
_COLOUR = "hsl({} var(--strength) var(--light))"
STYLE += "".join(
    f".h{number} {{ fill: {_COLOUR.format(hue)}; background: {_COLOUR.format(hue)}; }}\n"
    for number, hue in enumerate(_HUES)
)
