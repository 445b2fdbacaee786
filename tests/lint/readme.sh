#!/bin/sh
# readme.sh ROOT KEDGE - the policy that README.md shows is one that passes.
#
# Its examples follow each other in one file.  The certificate and the password
# are made here, where the policy names them.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077
mkdir "$work/tls" "$work/secrets"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -subj /CN=cloud -keyout "$work/key.pem" -out "$work/tls/cloud-ca.pem" \
    2>/dev/null
echo secret >"$work/secrets/cloud"
awk '/^```yaml$/ { inside = 1; next } /^```$/ { inside = 0 } inside' \
    "$1/README.md" | sed "s|/etc/kedge|$work|" >"$work/policy.yaml"
[ -s "$work/policy.yaml" ] || { echo "readme: shows no policy" >&2; exit 1; }
"$2" check "$work/policy.yaml" >&2
