#!/bin/sh
# Builds a Debian package: build.sh BINARY VERSION FOLDER. Prints its path. Same binary and version, same bytes.
set -eu
binary=$1 version=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(dirname "$here")
case $version in [0-9]*) ;; *) version=0~git$version ;; esac
version=$(printf %s "$version" | tr -c '[:alnum:].+~' '+')
arch=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install -D -m 755 "$binary" "$root/usr/bin/ebbtide"
install -D -m 644 "$deploy/ebbtide.service" "$root/lib/systemd/system/ebbtide.service"
install -D -m 644 "$deploy/ebbtide.yaml" "$root/etc/ebbtide/ebbtide.yaml" # no secret stands in it; the service has a user of its own
install -d -m 700 "$root/etc/ebbtide/credentials"
install -d "$root/usr/share/doc/ebbtide/examples"
cat "$deploy/../LICENSE" "$deploy/../THIRD_PARTY_NOTICES" >"$root/usr/share/doc/ebbtide/copyright"
install -D -m 644 "$deploy/50-ebbtide-poweroff.rules" "$root/usr/share/polkit-1/rules.d/50-ebbtide-poweroff.rules"
install -D -m 644 "$deploy/sysusers.conf" "$root/usr/lib/sysusers.d/ebbtide.conf"
install -m 644 "$deploy"/../runbooks/*.yaml "$root/usr/share/doc/ebbtide/examples/"
install -m 644 "$deploy"/../README.md "$root/usr/share/doc/ebbtide/"

install -d "$root/DEBIAN"
echo /etc/ebbtide/ebbtide.yaml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 755 "$here/$script" "$root/DEBIAN/$script"; done
cat >"$root/DEBIAN/control" <<EOF
Package: ebbtide
Version: $version
Architecture: $arch
Maintainer: The developers of Ebbtide <root@localhost>
Section: admin
Priority: optional
Depends: init-system-helpers, systemd
Recommends: polkitd
Suggests: nut-server
Description: takes a server room down in order when the mains fail, and brings it back
 Ebbtide watches UPSes through NUT and follows a run book: it switches caches to
 write-through and flushes them, shuts down VMs, hosts and storage in order and
 in time, proves each step, cuts the UPS output last, and brings up what was on
 when power is back and the battery is charged. Unless armed it only observes.
EOF
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$out"
deb=$out/ebbtide_${version}_$arch.deb
dpkg-deb -Zgzip --root-owner-group --build "$root" "$deb" >/dev/null
echo "$deb"
