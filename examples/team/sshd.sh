#!/usr/bin/env bash
# An SSH server for a trial, on loopback alone, that gives files only: `sshd.sh start FOLDER`, `sshd.sh stop FOLDER`.
# FOLDER/remote then holds the address for DVC, FOLDER/key the key that it lets in, FOLDER/known_hosts its own.
# Needs Debian's package `openssh-server`.
. "$(dirname "$0")/common.sh"

server=$folder/sshd
program=$(PATH=$PATH:/usr/sbin command -v sshd) \
    || { echo "error: sshd is not installed: apt-get install -y --no-install-recommends openssh-server" >&2; exit 1; }
stop_process "$server/pid" sshd
if [ "$verb" = stop ]; then exit 0; fi

own_folder "$server"
own_folder "$folder/store"
[ -e "$folder/key" ] || ssh-keygen -q -t ed25519 -N '' -C trial -f "$folder/key"
"${as_user[@]}" test -e "$server/host_key" || "${as_user[@]}" ssh-keygen -q -t ed25519 -N '' -C host -f "$server/host_key"
cp "$folder/key.pub" "$server/authorized_keys"
chmod a+r "$server/authorized_keys"
port=$(free_port)
cat >"$server/config" <<CONFIG
ListenAddress 127.0.0.1
Port $port
HostKey $server/host_key
PidFile $server/pid
AuthorizedKeysFile $server/authorized_keys
AuthenticationMethods publickey
StrictModes no
UsePAM yes
Subsystem sftp internal-sftp
ForceCommand internal-sftp
DisableForwarding yes
PermitUserEnvironment no
CONFIG
"${as_user[@]}" "$program" -t -f "$server/config"
trap 'stop_process "$server/pid" sshd' ERR INT TERM
"${as_user[@]}" "$program" -f "$server/config" -E "$server/log"
wait_until 20 $$ listens "$port" || { cat "$server/log" >&2; false; }
echo "[127.0.0.1]:$port $(cut -d ' ' -f 1,2 "$server/host_key.pub")" >"$folder/known_hosts"
echo "ssh://$user@127.0.0.1:$port$folder/store" >"$folder/remote"
echo "sshd listens on 127.0.0.1:$port; $folder/remote has the address for DVC"
