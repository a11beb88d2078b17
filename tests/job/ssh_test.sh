#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs on other hosts: two network namespaces with an sshd each, joined to this one by virtual cables. All keys, settings
# and servers are made here and taken away at the end. Usage: ssh_test.sh ONESEA NEIGHBOURS GROWING
#
#   here 10.231.7.1/30 ---- .2 first namespace      here 10.231.7.5/30 ---- .6 second namespace; .2 <-> .6 through here
set -u
onesea=$1 neighbours=$2 growing=$3
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) || skip "needs sshd"
command -v ip >/dev/null || skip "needs ip"
command -v ssh >/dev/null || skip "needs ssh"
for left in $(ip netns list 2>/dev/null | sed -n 's/^sea\([0-9][0-9]*\)[ab]\>.*/\1/p' | sort -u); do
    kill -0 "$left" 2>/dev/null && continue # else it was killed, and could not clean up
    for ns in "sea${left}a" "sea${left}b"; do
        for pid in $(ip netns pids "$ns" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
        ip netns del "$ns" 2>/dev/null
    done
done
one=sea$$a two=sea$$b
ip netns add "$one" 2>/dev/null || skip "needs network namespaces"
work=$(mktemp -d) failures=0
forward=$(cat /proc/sys/net/ipv4/ip_forward)

cleanup() {
    for file in "$work"/pid.*; do [ -e "$file" ] && kill "$(cat "$file")" 2>/dev/null; done
    for ns in "$one" "$two"; do
        for pid in $(ip netns pids "$ns" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
        ip netns del "$ns" 2>/dev/null
    done
    echo "$forward" >/proc/sys/net/ipv4/ip_forward
    ip link del "${one}h" 2>/dev/null
    ip link del "${two}h" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

cable() { # namespace, our address, its address
    ip netns add "$1" 2>/dev/null
    ip link add "${1}h" type veth peer name eth0 netns "$1" || exit 1
    ip addr add "$2/30" dev "${1}h" && ip link set "${1}h" up
    ip -n "$1" addr add "$3/30" dev eth0 && ip -n "$1" link set eth0 up && ip -n "$1" link set lo up
    ip -n "$1" route add default via "$2"
}
serve() { # namespace, address
    cat >"$work/sshd.$1" <<END
ListenAddress $2
Port 22
HostKey $work/host_key
AuthorizedKeysFile $work/authorized
PidFile $work/pid.$1
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
END
    mkdir -p /run/sshd
    ip netns exec "$1" "$sshd" -f "$work/sshd.$1" || exit 1
}
cable "$one" 10.231.7.1 10.231.7.2
cable "$two" 10.231.7.5 10.231.7.6
echo 1 >/proc/sys/net/ipv4/ip_forward
ssh-keygen -q -t ed25519 -N '' -f "$work/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$work/user_key" || exit 1
cp "$work/user_key.pub" "$work/authorized"
cat >"$work/ssh_config" <<END
Host *
    IdentityFile $work/user_key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
    ConnectTimeout 5
END
serve "$one" 10.231.7.2
serve "$two" 10.231.7.6
export ONESEA_RSH="ssh -F $work/ssh_config" SEA_SSH_TEST_MARK=$$.$one

check() { # name, wanted status, text the output must have; then the arguments of `onesea run`
    name=$1 wanted=$2 text=$3
    shift 3
    timeout 60 "$onesea" run "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    if [ "$status" = "$wanted" ] && grep -q -- "$text" "$work/out"; then
        echo "ok   $name"
    else
        echo "FAIL $name: status $status, wanted $wanted with '$text':"
        cat "$work/out"
        failures=$((failures + 1))
    fi
}
no_sleepers() { # name, pattern: nothing that matches runs in the namespaces a moment later
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        left=0
        for ns in "$one" "$two"; do
            for pid in $(ip netns pids "$ns"); do
                cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ' | grep -q "$2" && left=1
            done
        done
        [ $left = 0 ] && echo "ok   $1" && return
        sleep 0.25
    done
    echo "FAIL $1: something is left"
    failures=$((failures + 1))
}

hosts=10.231.7.2,10.231.7.6
check "ranks run on the hosts" 0 "10.231.7.6/30" --host $hosts sh -c 'ip -o addr show dev eth0'
check "status of a remote rank" 7 "rank 1 on 10.231.7.6 exited with status 7" --host $hosts sh -c 'exit $((ONESEA_RANK * 7))'
check "missing program is named with its host" 127 "host 10.231.7.2: program 'no-such' not found" --host $hosts no-such
check "variables go along with -x" 0 "value-here" -x SOME=value-here --host $hosts sh -c 'echo $SOME'
check "local variables do not go along" 0 "mark()" --host 10.231.7.2 sh -c 'echo "mark($SEA_SSH_TEST_MARK)"'
check "unless all are wanted" 0 "mark($SEA_SSH_TEST_MARK)" --env-all --host 10.231.7.2 sh -c 'echo "mark($SEA_SSH_TEST_MARK)"'
check "missing installation" 125 "host 10.231.7.2: cannot be reached" --prefix /nonexistent --host 10.231.7.2 true
check "wrong interface" 125 "host 10.231.7.2: there is no interface 'nosuch'" --iface nosuch --host $hosts true
check "host without answer" 125 "host 10.231.7.3: cannot be reached: ssh: connect" --host 10.231.7.2,10.231.7.3 true
check "time limit" 124 "time limit" --timeout 1 --host $hosts sleep 7131
no_sleepers "nothing is left after the time limit" "sleep 7131"
check "memory between two hosts" 0 "rank 3 of 4 on node 1: good via net" -n 4 --host $hosts "$neighbours"
check "memory with encryption" 0 "rank 1 of 2 on node 1: good via net" -n 2 --secure encrypt --host $hosts "$neighbours"
check "memory between here and there" 0 "rank 2 of 3 on node 2: good via net" -n 3 --host localhost,$hosts "$neighbours"
check "counts of ranks on two hosts" 0 "^ *1 *0 *net" --stats -n 2 --host $hosts "$neighbours"
check "ranks that come later, on other hosts" 0 "pairs of ranks spoke" --stats -n 3 --host localhost,$hosts "$growing" all 4
check "a program that another host lacks" 0 "SEA_ERR_SYSTEM: sea_spawn: program '/no/such' not found" --host $hosts "$growing" refused 1 /no/such
check "named interface" 0 "rank 1 of 2 on node 1: good via net" -n 2 --iface eth0 --host $hosts "$neighbours"

"$onesea" run -n 4 --host $hosts sh -c 'sleep 7132 & (setsid sleep 7132 &) ; sleep 7132' </dev/null &
launcher=$!
sleep 2
kill -9 $launcher
wait $launcher 2>/dev/null
no_sleepers "nothing is left after the launcher's death" "sleep 7132"

"$onesea" run -n 2 --host $hosts sh -c '(setsid sleep 7133 &) ; sleep 7133' </dev/null >"$work/out" 2>&1 &
launcher=$!
sleep 2
for pid in $(ip netns pids "$one"); do # the agent itself is the child of its guard
    [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "$(dirname "$(dirname "$onesea")")/bin/onesea agent --guard " ] && agent=$pid
done
kill -9 "$agent"
wait $launcher
status=$?
if [ $status = 125 ] && grep -q "agent of node 0 (10.231.7.2)" "$work/out"; then
    echo "ok   death of an agent is told"
else
    echo "FAIL death of an agent: status $status"
    cat "$work/out"
    failures=$((failures + 1))
fi
no_sleepers "nothing is left after an agent's death" "sleep 7133"
exit $((failures != 0))
