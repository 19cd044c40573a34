"""Snakemake's setting for the jobs that de-duplicate."""

import re

import pytest

from tests.copies import ROOT, said_by_snakemake


@pytest.mark.parametrize("partitions", [1, 5])
def test_each_partition_is_a_job(partitions: int) -> None:
    scatter = ("--set-scatter", f"partitions={partitions}")
    plan = ("-n", "--forceall", "--configfile", "params.test.yaml", *scatter)
    listing = said_by_snakemake(ROOT, *plan, "--", "data/corpus/released/blocks.parquet")
    assert re.search(rf"^deduplicate +{partitions}$", listing, re.MULTILINE)
    assert re.search(r"^ingest +2$", listing, re.MULTILINE) and re.search(
        r"^join_partitions +1$", listing, re.MULTILINE
    )
    assert f"data/corpus/partitions/{partitions}-of-{partitions}.parquet" in listing
