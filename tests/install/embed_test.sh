#!/usr/bin/env bash
# embed_test.sh SOURCE BUILD COMPILER: installs BUILD, then builds examples/embed.cc against the
# installed copy and nothing else, once by find_package and once by pkg-config. Both must print
# examples/embed.out.
set -euo pipefail
source=$1 build=$2 compiler=$3

# Outside the tree, and without what the caller's environment would add to the package.
unset CPATH CPLUS_INCLUDE_PATH LIBRARY_PATH CXXFLAGS LDFLAGS CMAKE_PREFIX_PATH DESTDIR
work=$(mktemp -d "${TMPDIR:-/var/tmp}/sluice-install-XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cp -r "$source/tests/install/project" "$work/project"
cp "$source/examples/embed.cc" "$work/project"

die() {
  echo "embed_test: $*" >&2
  exit 1
}

# Runs a command and shows its output only if it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "failed: $*"; }
}

expect_output() {
  mkdir "$work/store"
  "$1" "$work/store" >"$work/printed" || die "$1 ended with exit code $?"
  diff "$source/examples/embed.out" "$work/printed" || die "$1 printed something else"
  rm -r "$work/store"
}

# Moved afterwards: an installed copy knows no place but its own.
quietly cmake --install "$build" --prefix "$work/elsewhere"
mv "$work/elsewhere" "$prefix"
diff -r "$source/include/sluice" "$prefix/include/sluice" || die "not exactly the public headers"
grep -rIF -e "$source" -e "$build" -e "$work" "$prefix" && die "these lines name another place"

quietly cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/build"
expect_output "$work/build/embed"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name sluice.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs sluice)
quietly "$compiler" -std=c++20 -MMD -MF "$work/headers" "$work/project/embed.cc" "${flags[@]}" \
  -o "$work/embed"
expect_output "$work/embed"
grep -F "$source/" "$work/headers" && die "these headers are not of the installed copy"
echo "installed, moved, and embedded by find_package and by pkg-config"
