#!/usr/bin/env bash
# A Slurm of two nodes on this machine, to try the profile: `trial_cluster.sh start FOLDER`, `trial_cluster.sh stop FOLDER`.
# Everything lies in FOLDER: configuration, keys, state, logs, and NAME.pid of each daemon (munged, slurmctld, node1,
# node2). `source FOLDER/environment` lets sbatch and Snakemake use it. `start` also restarts what has died.
# Debian: apt-get install slurm-wlm munge. It needs no root, no cgroups, no name server; it listens on loopback alone.
set -euo pipefail

usage() { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
[ $# = 2 ] || usage
action=$1
mkdir -p "$2"
folder=$(realpath "$2")
configuration=$folder/slurm.conf
PATH=$PATH:/usr/sbin:/sbin
CORES=${CORES:-4}                # of each node, so many or not
MEMORY_MB=${MEMORY_MB:-6000}     # of each node

runs() { [ -f "$folder/$1.pid" ] && grep -qs '^State:.[^Z]' "/proc/$(cat "$folder/$1.pid")/status"; }

free_ports() {  # as many ports as asked for, none of them in use now
    python3 - "$1" <<'END'
import socket
import sys

sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(server.getsockname()[1] for server in sockets))
END
}

configure() {
    [ -f "$configuration" ] && return
    umask 077
    head -c 1024 /dev/urandom > "$folder/munge.key"
    local controller_port first_port second_port user
    read -r controller_port first_port second_port <<< "$(free_ports 3)"
    user=$(id -un)
    mkdir -p "$folder/state" "$folder/node1" "$folder/node2"
    # Snakemake's plugin takes SLURM_CONF out of the environment of what a job runs.
    mkdir -p "$folder/bin"
    for program in srun squeue scontrol; do
        printf '#!/bin/sh\nSLURM_CONF=${SLURM_CONF:-%q} exec %q "$@"\n' "$configuration" "$(command -v $program)" > "$folder/bin/$program"
        chmod +x "$folder/bin/$program"
    done
    cp "$(dirname "$(realpath "$0")")/without_accounting/sacct" "$folder/bin"
    printf 'export SLURM_CONF=%q PATH=%q:$PATH\n' "$configuration" "$folder/bin" > "$folder/environment"
    cat > "$configuration" <<END
ClusterName=trial
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$controller_port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=30
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
# Without cgroups: processes are followed through /proc, and memory is sampled. A job over its memory is killed.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=0,defer_batch
# A node that does not answer for ten seconds is down. Its jobs are queued again; they wait for cred_expire seconds.
SlurmdTimeout=10
ReturnToService=2
JobRequeue=1
MinJobAge=3600
KillWait=2
MpiDefault=none
MailProg=/bin/true
SlurmdParameters=config_overrides
DefMemPerCPU=1000
NodeName=node1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$first_port CPUs=$CORES RealMemory=$MEMORY_MB
NodeName=node2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$second_port CPUs=$CORES RealMemory=$MEMORY_MB
PartitionName=trial Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
END
}

start() {
    for program in munged slurmctld slurmd; do
        command -v $program > /dev/null || { echo "error: $program is missing: apt-get install slurm-wlm munge" >&2; exit 1; }
    done
    configure
    export SLURM_CONF=$configuration
    runs munged || munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" 2>> "$folder/munged.log"
    runs slurmctld || slurmctld -f "$configuration"
    for node in node1 node2; do
        runs $node || slurmd -f "$configuration" -N $node
    done
    for _ in $(seq 60); do
        [ "$(sinfo -h -N -o '%T' 2> /dev/null | grep -cE '^(idle|mixed|allocated)$')" = 2 ] && break
        sleep 0.5
    done
    sinfo -N -o '%N %T %c cores %m MB' || { echo "error: the cluster does not answer; read $folder/*.log" >&2; exit 1; }
    echo "Now: source $folder/environment"
}

stop() {
    export SLURM_CONF=$configuration
    runs slurmctld && { scancel --user "$(id -un)" 2> /dev/null || true; }
    for daemon in node1 node2 slurmctld munged; do
        runs $daemon || continue
        local pid
        pid=$(cat "$folder/$daemon.pid")
        kill "$pid"
        for _ in $(seq 50); do runs $daemon || break; sleep 0.1; done  # who started it may not have taken note of its end
        kill -9 "$pid" 2> /dev/null || true
        rm -f "$folder/$daemon.pid"
    done
}

case $action in start | stop) $action ;; *) usage ;; esac
