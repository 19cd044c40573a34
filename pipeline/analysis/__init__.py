"""Tables -> numbers: metrics, intervals, paired comparisons. No pages. Called by stages and by the report."""
