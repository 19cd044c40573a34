"""Orders for processors, timed on the machine at hand; so nothing but a request runs it."""



def series_before(wildcards):
    """Table `timed_blocks` of the series before the wildcards' series; the first one has none."""
    before = int(wildcards.series) - 1
    return path("timed_blocks", **{**wildcards, "series": before}) if before else []


rule time_orders:
    """It runs machine code of the corpus and times it on this machine; so nothing but a request runs it."""
    input:
        src=src("time_orders"),
        set=path("sets"),
        blocks=of_set("blocks"),
        dags=of_set("dags"),
        schedules=lambda w: schedules(w.experiment, set=[w.set], target=experiment_of(w).targets),
        earlier=series_before,
    output:
        timings=path("timings"),
        timed_blocks=path("timed_blocks"),
    params:
        settings=lambda w: section("experiments", w.experiment, "timing"),
    threads: 1024  # all of them: a job beside it would be measured, too
    message: "Timing orders of {wildcards.set} on this processor, series {wildcards.series}"
    shell: stage("time_orders", "settings")
