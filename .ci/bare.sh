#!/usr/bin/env bash
# Installs what `make dist` made on a bare Debian 12, in every way that docs/operations.md names, and runs a job in each.
# As root, with debootstrap: .ci/bare.sh [FOLDER OF AN OLDER TRIAL]
set -euo pipefail
cd "$(dirname "$0")/.."

bare=${1:-$(mktemp -d /tmp/pgbaton-bare-XXXXXX)}
[ -e "$bare/bin/sh" ] || debootstrap --variant=minbase bookworm "$bare" http://deb.debian.org/debian >/dev/null
echo "bare Debian 12 in $bare"
mountpoint -q "$bare/proc" || mount -t proc proc "$bare/proc"
trap 'chroot "$bare" pg_ctlcluster 15 main stop >/dev/null 2>&1 || true; umount "$bare/proc"' EXIT

# What this machine needs for a network may be set in PIP_*, and in these files. The certificates come last, because
# the package ca-certificates writes its own.
cp /etc/resolv.conf "$bare/etc/resolv.conf"
DEBIAN_FRONTEND=noninteractive chroot "$bare" sh -ec '
    apt-get update -q
    apt-get install -qy --no-install-recommends python3-venv unzip make postgresql-15 postgresql-server-dev-15
' >"$bare/root/apt.log" 2>&1 || { cat "$bare/root/apt.log"; exit 1; }
cp -r /etc/ssl/certs/. "$bare/etc/ssl/certs/" 2>/dev/null || true
rm -rf "$bare/root/dist"
cp -r dist "$bare/root/dist"

# Each line is one that a user would type.
cat >"$bare/root/trial.sh" <<'EOF'
set -euo pipefail
export LC_ALL=C.UTF-8 HOME=/root PGUSER=postgres
cd /root
step() { echo; echo "== $*"; }
sed -i 's/^local.*/local all all trust/; s/scram-sha-256/trust/' /etc/postgresql/15/main/pg_hba.conf
pg_ctlcluster 15 main start

one_job() {
    psql -qAtX "$1" <<'SQL'
select pgbaton.create_fifo_queue('orders');
select pgbaton.enqueue_job('orders', '{"event": "paid"}', singleton_key => 'order-1');
select payload ->> 'event' from pgbaton.claim_job_batch('w', array['orders']);
select pgbaton.version();
SQL
}

step "extension, from the archive for PGXN"
rm -rf pgxn && mkdir pgxn && cd pgxn && unzip -q ../dist/pgbaton-*.zip && cd pgbaton-*
make -s install
cd /root && dropdb --if-exists ext && createdb ext && psql -qX ext -c 'create extension pgbaton'
one_job ext

step "plain, install.sql of the same archive"
dropdb --if-exists plain && createdb plain && psql -qX plain -f pgxn/pgbaton-*/install.sql
one_job plain

step "plain, from the wheel"
rm -rf venv && python3 -m venv venv && venv/bin/pip install -qq dist/*.whl
dropdb --if-exists wheel && createdb wheel && venv/bin/pgbaton install --dsn 'dbname=wheel'
one_job wheel

step "plain, from the sdist"
rm -rf venv && python3 -m venv venv && venv/bin/pip install -qq dist/*.tar.gz
dropdb --if-exists sdist && createdb sdist && venv/bin/pgbaton install --dsn 'dbname=sdist'
one_job sdist
echo
echo "4 of 4 ways installed, and a job ran in each"
EOF
chroot "$bare" /bin/bash /root/trial.sh
