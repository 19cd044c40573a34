#!/usr/bin/env bash
# A PostgreSQL for a trial, on loopback alone: `postgres.sh start FOLDER` makes or starts it, `stop` stops it.
# FOLDER/database then holds its address with the password, for mlflow.sh. Needs Debian's package `postgresql`.
. "$(dirname "$0")/common.sh"

cluster=$folder/postgres
binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$binaries" ] || { echo "error: PostgreSQL is not installed: apt-get install -y --no-install-recommends postgresql" >&2; exit 1; }
running() { "${as_user[@]}" "$binaries/pg_ctl" status -D "$cluster/data" >/dev/null 2>&1; }

if [ "$verb" = stop ]; then
    if running; then "${as_user[@]}" "$binaries/pg_ctl" stop -D "$cluster/data" -m fast -w >/dev/null; fi
    exit 0
fi
if running; then echo "PostgreSQL runs: $folder/database has its address"; exit 0; fi

cd /  # the user of the server may not enter the caller's folder
if [ ! -e "$cluster/data/PG_VERSION" ]; then
    rm -rf "$cluster"
    own_folder "$cluster"
    (umask 077 && head -c 18 /dev/urandom | base64 | tr '+/' '-_' >"$folder/password")
    "${as_user[@]}" tee "$cluster/password" <"$folder/password" >/dev/null
    "${as_user[@]}" "$binaries/initdb" -D "$cluster/data" -U mlflow --auth=scram-sha-256 -E UTF8 --locale=C \
        --pwfile="$cluster/password" >/dev/null
    rm "$cluster/password"
fi
for _ in 1 2 3 4 5; do  # a port may be taken between the look and the start
    port=$(free_port)
    if "${as_user[@]}" "$binaries/pg_ctl" start -D "$cluster/data" -w -t 60 -l "$cluster/log" \
        -o "-c listen_addresses=127.0.0.1 -p $port -k ''" >/dev/null 2>&1; then
        (umask 077 && echo "postgresql://mlflow:$(cat "$folder/password")@127.0.0.1:$port/postgres" >"$folder/database")
        echo "PostgreSQL listens on 127.0.0.1:$port; $folder/database has its address"
        exit 0
    fi
done
cat "$cluster/log" >&2
exit 1
