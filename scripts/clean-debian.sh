# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A clean Debian 12 in a folder, with the packages of build/packages beside it, for scripts that try them:
# sourced, with $packages, $work and $target set, as root, in a mount namespace of its own.
# shellcheck disable=SC2154  # those

readonly base="$root/build/packages/debian-12.tar"

# make_base: $base, an archive of a minimal Debian 12.
make_base() {
  local new="$root/build/packages/debian-12.new.tar" sources=/etc/apt/sources.list.d/debian.sources proxy
  [[ -s "$sources" ]] || sources=/etc/apt/sources.list
  mkdir -p "$root/build/packages"
  if [[ ! -s "$base" ]]; then
    say "-- a clean Debian 12 (mmdebstrap)"
    proxy="$(apt-config dump --format '%v%n' Acquire::http::Proxy)"
    mmdebstrap --quiet --variant=minbase --mode=root ${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} \
      bookworm "$new" - <"$sources" || die "mmdebstrap failed: is Debian's mirror reachable?"
    mv -T "$new" "$base"
  fi
}

make_debian() {
  make_base
  mkdir "$target"
  tar -x -f "$base" -C "$target" --exclude=./dev/*
  mount --bind "$target" "$target"
  mount --make-private "$target"
  mount -t proc proc "$target/proc"
  mount --rbind /dev "$target/dev"
  mount --make-rslave "$target/dev"
  cp --dereference /etc/resolv.conf /etc/hosts "$target/etc/"
  mkdir "$target/packages" "$target/earlier" "$target/source"
  cp "$packages"/*.deb "$target/packages/"
  rm -f -- "$target"/packages/*-dbgsym_*.deb
  git -C "$root" archive HEAD scripts packaging docs tests/packaging | tar -x -C "$target/source"
  mv "$target/source/packaging/debian" "$target/source/debian"
  inside useradd --create-home visitor
  inside apt-get -q update >"$work/update.log" 2>&1 || die "apt-get update: $(cat "$work/update.log")"
}

# inside COMMAND...: in that system, with its own environment.
inside() {
  chroot "$target" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}

# apt WHAT...: runs apt-get, and prints its output if it fails.
apt() {
  inside apt-get -q -y "$@" >"$work/apt.log" 2>&1 || { tail -n 40 "$work/apt.log" >&2; die "apt-get $* failed"; }
}

step() { # TEXT COMMAND...: with the seconds that it takes
  local text="$1" begin="$EPOCHREALTIME"
  shift
  say "-- $text"
  "$@" || die "\"$text\" failed"
  say "   $(((${EPOCHREALTIME//[.,]/} - ${begin//[.,]/}) / 1000000)) s"
}
