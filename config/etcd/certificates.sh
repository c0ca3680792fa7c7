#!/bin/sh
# Creates a certificate authority, and certificates for three members of etcd and for the daemons, in the current directory. Replace
# the addresses. Run the script on a machine that you trust, in an empty directory.
set -eu
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=settings -keyout ca.key -out ca.pem
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -addext "$2" -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 -copy_extensions copy -out "$1.pem"
}
certificate one subjectAltName=IP:10.0.0.5
certificate two subjectAltName=IP:10.0.0.6
certificate three subjectAltName=IP:10.0.0.7
certificate daemon subjectAltName=DNS:daemon
