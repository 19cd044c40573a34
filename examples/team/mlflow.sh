#!/usr/bin/env bash
# MLflow's server for a trial, on loopback alone, over the PostgreSQL of postgres.sh: `mlflow.sh start FOLDER`, `stop`.
# FOLDER/tracking then holds its address, the value of MLFLOW_TRACKING_URI. It also stores and serves the artifacts.
. "$(dirname "$0")/common.sh"

if [ "$verb" = stop ]; then stop_process "$folder/mlflow.pid" mlflow; exit 0; fi
[ -s "$folder/database" ] || { echo "error: $folder/database is missing: postgres.sh start $folder" >&2; exit 1; }
stop_process "$folder/mlflow.pid" mlflow  # one that has lost its database
mkdir -p "$folder/artifacts"

export MLFLOW_DISABLE_TELEMETRY=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false PYTHONWARNINGS=ignore
MLFLOW_BACKEND_STORE_URI=$(cat "$folder/database")  # not among the arguments, which every user sees
export MLFLOW_BACKEND_STORE_URI
port=$(free_port)
trap 'stop_process "$folder/mlflow.pid" mlflow' ERR INT TERM
cd "$folder"
setsid mlflow server --host 127.0.0.1 --port "$port" --workers 2 --artifacts-destination "$folder/artifacts" \
    --uvicorn-opts "--log-level warning --timeout-graceful-shutdown 1" >"$folder/mlflow.log" 2>&1 </dev/null &
echo $! >"$folder/mlflow.pid"
answers() { python3 -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/health', timeout=2)" 2>/dev/null; }
wait_until 120 $! answers || { tail -n 20 "$folder/mlflow.log" >&2; false; }
echo "http://127.0.0.1:$port" >"$folder/tracking"
echo "MLflow answers at http://127.0.0.1:$port"
