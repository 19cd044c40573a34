"""Snakemake's setting for the jobs that de-duplicate."""

import re

import pytest

from tests.copies import said_by_snakemake
from tests.trial.copies import ROOT


@pytest.mark.parametrize("partitions", [1, 5])
def test_each_partition_is_a_job(partitions: int) -> None:
    scatter = ("--set-scatter", f"partitions={partitions}")
    plan = ("-n", "--forceall", "--configfile", "params.test.yaml", *scatter)
    listing = said_by_snakemake(ROOT, *plan, "--", "data/corpus/released/blocks.parquet")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", listing, re.MULTILINE))
    assert (jobs["ingest"], jobs["deduplicate"], jobs["join_partitions"]) == ("2", str(partitions), "1")
    assert f"partition {partitions}-of-{partitions}" in listing
