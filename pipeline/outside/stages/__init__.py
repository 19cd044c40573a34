"""One thin command for each rule: read tables, call one function, write tables. Called by Snakemake alone."""
