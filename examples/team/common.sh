# Sourced by the scripts beside it: their words, an unprivileged user, free ports, waiting.
set -euo pipefail

usage() { echo "usage: ${0##*/} start|stop FOLDER" >&2; exit 2; }
[ $# = 2 ] || usage
verb=$1
case $verb in
    start) mkdir -p "$2" ;;
    stop) [ -d "$2" ] || { echo "$2 is no folder: nothing to stop"; exit 0; } ;;
    *) usage ;;
esac
folder=$(cd "$2" && pwd)

# Neither server runs as root: root's is the user `nobody`'s, who must be able to enter the folder.
as_user=()
user=$(id -un)
if [ "$(id -u)" = 0 ]; then
    user=nobody
    as_user=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups --)
    "${as_user[@]}" test -x "$folder" || { echo "error: $user cannot enter $folder; choose another folder, or: chmod a+x" >&2; exit 1; }
fi

own_folder() { # make a folder that the unprivileged user alone may enter
    mkdir -p "$1"
    chmod 700 "$1"
    if [ "$user" != "$(id -un)" ]; then chown "$user" "$1"; fi
}

free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

wait_until() { # SECONDS PID COMMAND...: until the command succeeds; false where the time is over or the process has ended
    local end=$((SECONDS + $1)) process=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] && kill -0 "$process" 2>/dev/null || return 1
        sleep 0.1
    done
}

stop_process() { # FILE with the id of a process group, NAME in its first one's command: ids are used again
    local group
    group=$(cat "$1" 2>/dev/null) || return 0
    if tr '\0' ' ' <"/proc/$group/cmdline" 2>/dev/null | grep -q -- "$2"; then
        kill -- "-$group"
        for _ in $(seq 100); do
            kill -0 -- "-$group" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 -- "-$group" 2>/dev/null || true
    fi
    rm -f "$1"
}
