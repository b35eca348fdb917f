"""`relic results` and `relic claims`: runs, and what they say."""

from typing import Annotated

import typer

from relic.commands.options import StoreOption, store_at
from relic.errors import RelicError

app = typer.Typer(help="Runs: show them, publish them, check them.", no_args_is_help=True)


@app.command()
def show(
    attribute: Annotated[str, typer.Option(help="Only this attribute.")] = "",
    classifier: Annotated[str, typer.Option(help="Only this classifier.")] = "",
    captioner: Annotated[str, typer.Option(help="Only this captioner.")] = "",
    source: Annotated[str, typer.Option(help="recorded or local.")] = "",
    csv: Annotated[
        bool, typer.Option("--csv", help="Tidy CSV of single runs; means otherwise.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Print published runs and this machine's, scores in percent."""
    from relic.results import COLUMNS, lic_table, load_runs, score_table

    frame = load_runs(store_at(store))
    asked = {
        "attribute": attribute,
        "classifier": classifier,
        "captioner": captioner,
        "source": source,
    }
    for column, value in asked.items():
        if value and value not in set(frame[column]):
            there = ", ".join(sorted(set(frame[column]))) or "none"
            raise RelicError(f"no runs with {column} {value!r}", expected=f"one of: {there}")
        frame = frame[frame[column] == value] if value else frame
    if csv:
        print(frame[COLUMNS].to_csv(index=False), end="")
        return
    print("scores in percent\n" + score_table(frame).to_string(index=False))
    print("\nLIC in percentage points, paired splits: by seed, LIC_M less the mean of its LIC_D")
    print(lic_table(frame).to_string(index=False))


@app.command()
def publish(store: StoreOption = None) -> None:
    """Condense a store's runs on real captions into results/."""
    from relic import paths
    from relic.results import publish as condense

    print(f"{len(condense(store_at(store)))} runs in {paths.RESULTS.name}/")


@app.command(name="check")
def check_results() -> None:
    """Verify results/: keys, scores, the declared grid, and that no label or caption is in it.

    Grids that results/grid.yml calls partial are told with what they hold; that is no problem.
    """
    from relic.declared import progress, read
    from relic.results import check as problems
    from relic.results import read_published as published_runs

    found = problems()
    print("\n".join(found) or "results/ is sound")
    table = progress(read(), published_runs())
    for row in table[table["recorded"] < table["of"]].to_dict("records"):
        print(
            f"{row['state']}: {row['grid']}; {row['attribute']}: {row['recorded']} of {row['of']}"
        )
    raise typer.Exit(1 if found else 0)


def claims(
    source: Annotated[
        str, typer.Option(help="Only this source: turk2023, recorded, 'this build', ...")
    ] = "",
    claim: Annotated[str, typer.Option(help="Only this claim: 1, 2, 3 or 4.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="Tidy CSV; sentences otherwise.")] = False,
    store: StoreOption = None,
) -> None:
    """Judge the four claims on every source: the papers, recorded runs, this machine's runs.

    Sources: `NAME table` are printed means and spreads, `turk2023` its values by split, `recorded` our
    runs in results/, `this build` the runs in this machine's store. What the verdicts mean: the
    book's page "How we decide".
    """
    from relic.claims import judge_all, table
    from relic.evidence import THIS_BUILD, gather
    from relic.results import local_frame

    runs, asked = store_at(store), source in ("", THIS_BUILD)
    evidence = gather(local_frame(runs) if asked and runs.directory.is_dir() else None)
    verdicts = [v for v in judge_all(evidence) if not source or v.source == source]
    verdicts = [v for v in verdicts if v.claim.startswith(claim)]
    if not verdicts:
        there = ", ".join(dict.fromkeys(evidence["source"]))
        raise RelicError(f"nothing on claim {claim or 'any'} from {source!r}", expected=there)
    if csv:
        print(table(verdicts).round(4).to_csv(index=False), end="")
        return
    for each in verdicts:
        where = f"claim {each.claim}, {each.attribute}, {each.classifier}, {each.variant}"
        print(f"{each.symbol} {each.verdict}: {where}; {each.source}\n    {each.sentence}")
