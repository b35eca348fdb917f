"""`relic results` and `relic claims`: runs, and what they say."""

from typing import Annotated

import typer
from typer import Option

from relic.commands.options import StoreOption, store_at
from relic.errors import RelicError

app = typer.Typer(help="Runs: show them, publish them, check them.", no_args_is_help=True)


@app.command()
def show(
    attribute: Annotated[str, Option(help="Only this attribute.")] = "",
    classifier: Annotated[str, Option(help="Only this classifier.")] = "",
    captioner: Annotated[str, Option(help="Only this captioner.")] = "",
    source: Annotated[str, Option(help="recorded or own.")] = "",
    csv: Annotated[bool, Option("--csv", help="Tidy CSV of single runs, not means.")] = False,
    store: StoreOption = None,
) -> None:
    """Print recorded runs and this machine's, scores in percent."""
    import pandas as pd

    from relic.judge.lic import intervals, lic_table
    from relic.records.runs import PLAIN, UNCHANGED, own_frame, read_recorded

    frames = [read_recorded(), own_frame(store_at(store))]
    frame = pd.concat([each for each in frames if len(each)] or frames[:1], ignore_index=True)
    asked = {"attribute": attribute, "classifier": classifier}
    asked |= {"captioner": captioner, "source": source}
    for column, value in asked.items():
        if value and value not in set(frame[column]):
            there = ", ".join(sorted(set(frame[column]))) or "none"
            raise RelicError(f"no runs with {column} {value!r}", expected=f"one of: {there}")
        frame = frame[frame[column] == value] if value else frame
    if csv:
        print(frame.to_csv(index=False), end="")
        return
    columns = ["source", *(n for n in UNCHANGED if n not in ("seed", "caption_index")), "n_test"]
    columns = [n for n in columns if n in ("captioner", "n_test") or frame[n].nunique() > 1]
    scores = frame.groupby(columns)["score"].agg(["count", "mean", "std"]).round(2).reset_index()
    scores = scores.rename(columns={"count": "runs", "std": "std over runs"})
    print("scores in percent\n" + scores.to_string(index=False))
    paired = frame[frame[list(PLAIN)].isin(PLAIN).all(axis=1)]
    for name, part in paired.groupby("source"):
        print(f"\nLIC, {name}, percentage points, paired splits, 95 % intervals")
        print(intervals(lic_table(part)).round(2).to_string(index=False))


@app.command()
def publish(store: StoreOption = None) -> None:
    """Condense a store's runs on real captions into results/."""
    from relic import paths
    from relic.records.runs import publish as condense

    print(f"{len(condense(store_at(store)))} runs in {paths.RESULTS.name}/")


@app.command(name="check")
def check_results() -> None:
    """Verify results/: keys, scores, the declared grid, and that no label or caption is in it.

    Grids that results/grid.yml calls partial are told with what they hold; that is no problem.
    """
    from relic.records.check import check
    from relic.records.grid import progress, read
    from relic.records.runs import read_recorded

    problems = check()
    print("\n".join(problems) or "results/ is sound")
    table = progress(read(), read_recorded())
    for grid, attribute, state, recorded, wanted in table.itertuples(index=False):
        if recorded < wanted:
            print(f"{state}: {grid}; {attribute}: {recorded} of {wanted}")
    raise typer.Exit(1 if problems else 0)


def claims(
    source: Annotated[str, Option(help="Only this source: turk2023, recorded, ...")] = "",
    claim: Annotated[str, Option(help="Only this claim: 1, 2, 3 or 4.")] = "",
    csv: Annotated[bool, Option("--csv", help="Tidy CSV; lines otherwise.")] = False,
) -> None:
    """Judge the four claims on every source: the papers and our recorded runs.

    Sources: hirota2022, relic2023, turk2023 (printed means and spreads), `turk2023 spreadsheet` (its
    values by split), recorded (our runs in results/). What the verdicts mean: the book's page "How we
    decide".
    """
    from relic.judge.claims import SYMBOLS
    from relic.numbers import span
    from relic.records.evidence import judge_all

    table = judge_all().sort_values(["claim", "attribute", "source"], kind="stable")
    sources = ", ".join(table["source"].unique())
    table = table[table["claim"].str.startswith(claim)]
    table = table[table["source"] == source] if source else table
    if table.empty:
        raise RelicError(f"nothing on claim {claim or 'any'} from {source!r}", expected=sources)
    if csv:
        print(table.round(4).to_csv(index=False), end="")
        return
    for row in table.to_dict("records"):
        where = f"claim {row['claim']}, {row['attribute']}, {row['classifier']}; {row['source']}"
        shown = span(row["estimate"], row["low"], row["high"])
        print(f"{SYMBOLS[row['word']]} {row['word']}: {where}")
        print(f"    {row['statement']} {row['whose']}: {shown}")
