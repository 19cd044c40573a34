#!/usr/bin/env bash
# Run a training as several processes, one for each task of this Slurm job: the `launcher` of a training rule.
#   snakemake --profile profiles/slurm --set-resources train_ordering:mpi=srun train_ordering:tasks=2 \
#     train_ordering:launcher=profiles/slurm/as_tasks.sh
# A task that dies ends the others; the next attempt goes on from the last checkpoint (profiles/slurm/config.yaml: retries).
set -euo pipefail
: "${SLURM_JOB_ID:?as_tasks.sh runs inside a job of Slurm}"
first=$(scontrol show hostnames "$(squeue --noheader --job "$SLURM_JOB_ID" --format %N)" | head -n 1)
address=$(scontrol show node "$first" | grep -oP 'NodeAddr=\K\S+')
tasks=$(scontrol show job "$SLURM_JOB_ID" | grep -oP 'NumTasks=\K\d+')
exec srun --ntasks="$tasks" --kill-on-bad-exit=1 torchrun --nnodes="$tasks" --nproc-per-node=1 \
    --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$address:$((20000 + SLURM_JOB_ID % 10000))" "$@"
