#!/usr/bin/env bash
# Makes `cargo build --target wasm32-wasip2` work with the installed Rust toolchain.
#
# Does nothing where it works already. Else it asks rustup; where rustup cannot, it builds the target's
# standard library once, from Debian's packages of its source and of wasi-libc, or from the folder named in
# AIRLOCK_WASM_TARGET_FILES. The result is tried aside and moved into the toolchain in one step.

set -euo pipefail

readonly target=wasm32-wasip2
# Suites of Debian that carry the source of a current Rust, and a wasi-libc with the folder wasm32-wasip2.
readonly suites=(trixie-backports forky)
# Seconds for each question: a server that does not answer must not hold up a build for long.
readonly rustup_limit=180
readonly apt_limit=180

say() { printf 'wasm-target: %s\n' "$*"; }

fail() {
    printf 'wasm-target: error: %s\n' "$1" >&2
    shift
    printf 'wasm-target: hint: %s\n' "$@" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# works SYSROOT [RUSTC-OPTION...]: whether a program that prints compiles and links.
works() {
    local sysroot=$1
    shift
    printf 'fn main() { println!("ready"); }\n' >"$work/hello.rs"
    rm -f "$work/hello.wasm"
    "$rustc" --sysroot "$sysroot" --edition 2024 --target "$target" "$@" \
        -o "$work/hello.wasm" "$work/hello.rs" >"$work/hello.log" 2>&1 && [ -s "$work/hello.wasm" ]
}

add_with_rustup() {
    has rustup || { say "rustup is not here"; return 1; }
    say "asking rustup for $target"
    local bounded=()
    has timeout && bounded=(timeout "$rustup_limit")
    RUSTUP_MAX_RETRIES=1 "${bounded[@]}" rustup target add "$target" </dev/null >"$work/rustup.log" 2>&1 || {
        say "rustup could not add it: $(grep -m1 -E '^(error|warn)' "$work/rustup.log" || echo "no answer in $rustup_limit s")"
        return 1
    }
}

# The first Debian archive among the machine's own apt sources, as "ADDRESS [KEYRING]".
debian_archive() {
    local files=() file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        if [ -f "$file" ]; then files+=("$file"); fi
    done
    [ "${#files[@]}" -gt 0 ] || return 1
    awk '
        function offer(address, key) {
            sub(/\/+$/, "", address)
            if (address ~ /\/debian$/ && !found) { print address, key; found = 1 }
        }
        function end_stanza() { if (uri != "") offer(uri, key); uri = ""; key = "" }
        FNR == 1 || /^[ \t]*$/ { end_stanza() }
        /^URIs:/ { uri = $2 }
        /^Signed-By:[ \t]*\// { key = $2 }
        /^deb[ \t]/ {
            k = ""
            if (match($0, /signed-by=[^] \t]+/)) k = substr($0, RSTART + 10, RLENGTH - 10)
            sub(/^deb[ \t]+(\[[^]]*\][ \t]+)?/, "")
            offer($1, k)
        }
        END { end_stanza() }
    ' "${files[@]}" | grep .
}

# apt with lists, cache and sources of its own, so that the machine's are left as they are.
own_apt() {
    local bounded=()
    has timeout && bounded=(timeout "$apt_limit")
    (cd "$work/debs" && "${bounded[@]}" apt-get -q \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
        -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 "$@" </dev/null >>"$work/apt.log" 2>&1)
}

unpack_deb() {
    mkdir -p "$2"
    if has dpkg-deb; then
        dpkg-deb -x "$1" "$2"
    else
        local member
        member=$(ar t "$1" | grep '^data\.tar') || return 1
        ar p "$1" "$member" >"$work/$member" && tar -xf "$work/$member" -C "$2"
    fi
}

# Fills $work/src (holds library/) and $work/libc (crt1*.o and *.a) from Debian's packages.
files_from_apt() {
    has apt-get || { say "apt is not here"; return 1; }
    local archive suite keyring=
    archive=$(debian_archive) || { say "this machine's apt sources name no Debian archive"; return 1; }
    read -r archive keyring <<<"$archive"
    mkdir -p "$work/debs"
    for suite in "${suites[@]}"; do
        say "asking apt for rust-src $version and wasi-libc in $suite"
        rm -rf "$work/apt"
        mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
        printf 'deb %s%s %s main\n' "${keyring:+[signed-by=$keyring] }" "$archive" "$suite" >"$work/apt/sources.list"
        own_apt update || continue
        # What one suite lacks, the next may have.
        compgen -G "$work/debs/rust-src_*.deb" >/dev/null || own_apt download "rust-src=$version*" || true
        compgen -G "$work/debs/wasi-libc_*.deb" >/dev/null || own_apt download wasi-libc || true
        take_debs && return 0
    done
    say "apt could not bring both: $(grep -m1 '^E:' "$work/apt.log" || echo "no such packages in ${suites[*]}")"
    return 1
}

take_debs() {
    local deb
    if [ ! -d "$work/src" ] && deb=$(compgen -G "$work/debs/rust-src_*.deb"); then
        unpack_deb "$deb" "$work/unpacked-src" && [ -d "$work/unpacked-src/usr/src/rustc-$version/library" ] \
            && mv "$work/unpacked-src/usr/src/rustc-$version" "$work/src"
    fi
    if [ ! -d "$work/libc" ] && deb=$(compgen -G "$work/debs/wasi-libc_*.deb"); then
        take_libc "$deb" || rm -f "$deb"
    fi
    [ -d "$work/src" ] && [ -d "$work/libc" ]
}

# An older wasi-libc has no folder for this target.
take_libc() {
    rm -rf "$work/unpacked-libc"
    unpack_deb "$1" "$work/unpacked-libc" && [ -e "$work/unpacked-libc/usr/lib/$target/libc.a" ] \
        && mv "$work/unpacked-libc/usr/lib/$target" "$work/libc"
}

# The same from the folder in AIRLOCK_WASM_TARGET_FILES.
files_from_folder() {
    local folder=${AIRLOCK_WASM_TARGET_FILES:-} source deb
    [ -n "$folder" ] || { say "AIRLOCK_WASM_TARGET_FILES is not set"; return 1; }
    [ -d "$folder" ] || { say "AIRLOCK_WASM_TARGET_FILES names no folder that is here: $folder"; return 1; }
    say "taking the files from $folder"
    source=$folder/rust-std-src-$version.tar.xz
    if [ ! -f "$source" ]; then
        say "the folder has no rust-std-src-$version.tar.xz, which this rustc needs; it has: $(ls -m "$folder")"
        return 1
    fi
    deb=$(compgen -G "$folder/wasi-libc*.deb" | tail -n 1) || { say "the folder has no wasi-libc*.deb"; return 1; }
    rm -rf "$work/src" "$work/libc"
    mkdir "$work/src"
    tar -xf "$source" -C "$work/src" 2>/dev/null || { say "$source cannot be unpacked"; return 1; }
    [ -d "$work/src/library/std" ] || { say "$source does not unpack to library/"; return 1; }
    take_libc "$deb" || { say "$deb holds no folder $target"; return 1; }
}

# A copy of the toolchain in links, so that the toolchain itself is left alone until the end.
mirror_sysroot() {
    local entry
    mkdir -p "$work/sysroot/lib/rustlib/src"
    for entry in "$sysroot"/lib/*; do
        if [ "${entry##*/}" != rustlib ]; then ln -s "$entry" "$work/sysroot/lib/"; fi
    done
    for entry in "$sysroot"/lib/rustlib/*; do
        case ${entry##*/} in
        src | "$target") ;;
        *) ln -s "$entry" "$work/sysroot/lib/rustlib/" ;;
        esac
    done
    ln -s "$work/src" "$work/sysroot/lib/rustlib/src/rust"
    printf '#!/bin/sh\nexec "%s" --sysroot "%s" "$@"\n' "$rustc" "$work/sysroot" >"$work/rustc"
    chmod +x "$work/rustc"
}

build_std() {
    local libraries built=$work/sysroot/lib/rustlib/$target/lib
    say "building the standard library of $version for $target (about a minute)"
    mirror_sysroot
    mkdir -p "$work/empty/src"
    printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' >"$work/empty/Cargo.toml"
    printf 'fn main() {}\n' >"$work/empty/src/main.rs"
    # The link at the end fails for want of libc: only the libraries are wanted, so they are what is looked at.
    (
        cd "$work/empty"
        unset CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
        # Bitcode is what lets plugins use LTO.
        RUSTC="$work/rustc" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes CARGO_TARGET_DIR="$work/target" \
            CARGO_INCREMENTAL=0 cargo build -Zbuild-std=std,panic_abort --release --target "$target" \
            </dev/null >"$work/build.log" 2>&1
    ) || true
    libraries=$work/target/$target/release/deps
    compgen -G "$libraries/libstd-*.rlib" >/dev/null || {
        tail -n 20 "$work/build.log" >&2
        fail "the standard library did not build; the last lines of cargo are above" "${by_hand[@]}"
    }
    mkdir -p "$built/self-contained"
    cp "$libraries"/lib*.rlib "$built/"
    cp "$work"/libc/crt1*.o "$work"/libc/*.a "$built/self-contained/"
    works "$work/sysroot" || { cat "$work/hello.log" >&2; fail "the target was built, yet a program does not link" "${by_hand[@]}"; }
    works "$work/sysroot" -O -Clto=fat -Cpanic=abort || {
        cat "$work/hello.log" >&2
        fail "the target was built, yet a program does not link with LTO" "${by_hand[@]}"
    }
}

install() {
    local home=$sysroot/lib/rustlib
    # Two of these may have run at once.
    if works "$sysroot"; then return 0; fi
    if [ -e "$home/$target" ]; then
        say "replacing what is in $home/$target, which does not work"
    fi
    staged=$(mktemp -d "$home/.$target.XXXXXX") || fail "the toolchain's folder cannot be written: $home" \
        "run scripts/wasm-target.sh as the user who owns the toolchain"
    cp -R "$work/sysroot/lib/rustlib/$target/." "$staged/"
    chmod 755 "$staged"
    rm -rf "${home:?}/$target"
    mv -T "$staged" "$home/$target" || works "$sysroot" || fail "$home/$target cannot be put into place" "${by_hand[@]}"
    if [ ! -e "$staged" ]; then staged=; fi
}

work=
staged=
clean_up() {
    if [ -n "$staged" ]; then rm -rf "$staged"; fi
    if [ -n "$work" ]; then rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

has rustc && has cargo || fail "rustc and cargo are not here" "install Rust, for instance with rustup, and run this again"

version=$(rustc --version | awk '{ print $2 }')
sysroot=$(rustc --print sysroot)
rustc=$sysroot/bin/rustc
readonly by_hand=(
    "where rustup reaches its server, this is all: rustup target add $target"
    "else put rust-std-src-$version.tar.xz (unpacks to library/) and a Debian wasi-libc*.deb with usr/lib/$target into a folder, name it in AIRLOCK_WASM_TARGET_FILES and run this again"
)
work=$(mktemp -d "${TMPDIR:-/tmp}/airlock-$target.XXXXXX")

if works "$sysroot"; then
    say "$target works already with rustc $version"
    exit 0
fi
say "$target does not work yet with rustc $version"

if add_with_rustup && works "$sysroot"; then
    say "$target works: added by rustup"
    exit 0
fi

files_from_apt || files_from_folder || fail "the files to build $target are not to be had" "${by_hand[@]}"
build_std
install
works "$sysroot" || { cat "$work/hello.log" >&2; fail "$target was installed, yet a program does not link" "${by_hand[@]}"; }
say "$target works: built and installed in $sysroot"
