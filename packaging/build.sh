#!/usr/bin/env bash
# build.sh BIN OUT: makes OUT/sluice_VERSION_ARCHITECTURE.deb of the programs in BIN, and prints its
# path. The same programs at the same commit (or SOURCE_DATE_EPOCH, which dpkg-deb takes as the date
# of all that is newer) give the same bytes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 out=$2
programs=(queuectl retracker sluice-migrate sluiced)
services=(retracker sluiced)

umask 022
export LC_ALL=C TZ=UTC
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct) || {
    echo "build.sh: no commit to take the date from: set SOURCE_DATE_EPOCH" >&2
    exit 1
  }
fi
export SOURCE_DATE_EPOCH
version=$("$bin/sluiced" --version)
version=${version#sluiced }
architecture=$(dpkg --print-architecture)

work=$(mktemp -d "${TMPDIR:-/tmp}/sluice-package-XXXXXX")
trap 'rm -rf "$work"' EXIT
# dpkg-shlibdeps knows a package by where it lies.
tree=$work/debian/sluice
doc=usr/share/doc/sluice

# put MODE PATH: what comes on standard input, as a file of the package.
put() {
  mkdir -p "$(dirname "$tree/$2")"
  cat >"$tree/$2"
  chmod "$1" "$tree/$2"
}

put_programs() {
  local name
  for name in "${programs[@]}"; do
    install -D -m 755 "$bin/$name" "$tree/usr/bin/$name"
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$tree/usr/bin/$name"
    "$bin/$name" man | gzip -9n | put 644 "usr/share/man/man1/$name.1.gz"
    "$bin/$name" completion bash | put 644 "usr/share/bash-completion/completions/$name"
    "$bin/$name" completion zsh | put 644 "usr/share/zsh/vendor-completions/_$name"
    "$bin/$name" completion fish | put 644 "usr/share/fish/vendor_completions.d/$name.fish"
  done
}

# put_service NAME
put_service() {
  put 644 "lib/systemd/system/$1.service" <"$here/$1.service"
  put 644 "usr/lib/sysusers.d/$1.conf" <"$here/$1.sysusers"
  put 644 "etc/$1.yaml" <"$here/$1.yaml"
}

# The programs contain what they are linked with statically, so its terms come with them.
copyright() {
  local package
  echo "Sluice, under these terms:"
  echo
  cat "$here/../LICENSE"
  for package in liblmdb-dev libxxhash-dev libjemalloc-dev libfmt-dev libc6-dev; do
    printf '\nThe programs contain parts of %s, under these terms:\n\n' "$package"
    cat "/usr/share/doc/$package/copyright"
  done
}

changelog() {
  echo "sluice ($version) unstable; urgency=medium"
  printf '\n  * CHANGELOG.md.gz tells what changed.\n\n'
  echo " -- $(sed -n 's/^Maintainer: //p' "$here/control.in")  $(date -R -d "@$SOURCE_DATE_EPOCH")"
}

put_documents() {
  copyright | put 644 $doc/copyright
  changelog | gzip -9n | put 644 $doc/changelog.gz
  gzip -9n <"$here/../CHANGELOG.md" | put 644 $doc/CHANGELOG.md.gz
  put 644 usr/share/lintian/overrides/sluice <"$here/lintian-overrides"
}

# What the programs that are not linked statically need of other packages.
depends() {
  local name dynamic=()
  for name in "${programs[@]}"; do
    if [[ $(readelf --dynamic "$tree/usr/bin/$name") == *"(NEEDED)"* ]]; then
      dynamic+=("$tree/usr/bin/$name")
    fi
  done
  printf 'Source: sluice\n\nPackage: sluice\nArchitecture: any\n' >"$work/debian/control"
  (cd "$work" && dpkg-shlibdeps -O "${dynamic[@]}") | sed 's/^shlibs:Depends=//'
}

# In KiB, and one for each folder: the same on every file system.
installed_size() {
  find "$tree" -printf '%y %s\n' |
    awk '{ kib += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print kib }'
}

put_control() {
  local name size depends
  mkdir "$tree/DEBIAN"
  size=$(installed_size)
  depends=$(depends)
  (cd "$tree" && find . -type f -printf '%P\n' | sort | xargs -d '\n' md5sum) >"$work/md5sums"
  sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
    -e "s/@DEPENDS@/$depends/" "$here/control.in" | put 644 DEBIAN/control
  put 644 DEBIAN/md5sums <"$work/md5sums"
  printf '/etc/%s.yaml\n' "${services[@]}" | put 644 DEBIAN/conffiles
  for name in postinst prerm postrm; do put 755 "DEBIAN/$name" <"$here/$name"; done
}

put_programs
for name in "${services[@]}"; do put_service "$name"; done
put_documents
put_control
package=$out/sluice_${version}_$architecture.deb
dpkg-deb --root-owner-group --threads-max=1 --build "$tree" "$package" >/dev/null
echo "$package"
