#!/usr/bin/env bash
# Brings componentize-py and componentize-qjs into target/guest-languages, and makes the guests in Python and JavaScript
# with them, where the tests of guests in other languages look for them. Does nothing where all is there as it should be.
#
# scripts/guest-languages.sh [python] [quickjs]: these, or both.

set -euo pipefail

cd "$(dirname "$0")/.."

folder=target/guest-languages

# Beside the name of each: its tool and version, how that is brought, and how a component is made with it.
python_tool=componentize-py==0.25.1
quickjs_tool=componentize-qjs@0.4.5

bring_python() {
    python3 -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check "$python_tool"
}

bring_quickjs() {
    mkdir -p "$folder/quickjs"
    npm install --silent --no-audit --no-fund --no-save --prefix "$folder/quickjs" "$quickjs_tool"
}

# From a folder with source and contract to a component in it. The folder of a virtual environment that happens to be
# active is none of the plugin's.
make_python() {
    env -u VIRTUAL_ENV "$folder/python/bin/componentize-py" -d "$1/wit" -w tool \
        componentize -p "$1" reckoner -o "$1/plugin.wasm"
}

make_quickjs() {
    "$folder/quickjs/node_modules/.bin/componentize-qjs" --wit "$1/wit" -n tool --js "$1/reckoner.js" \
        --sync -o "$1/plugin.wasm"
}

# What the component of a language is made from.
digest() {
    cat wit/plugin.wit tests/languages/tool.wit tests/languages/"$1"/reckoner.* scripts/guest-languages.sh |
        sha256sum | cut -d ' ' -f 1
}

language() {
    local name=$1 tool=$2 work=$folder/$1.work
    mkdir -p "$folder"
    # Tests in several processes may ask at once.
    exec 9>"$folder/$name.lock"
    flock 9
    if [ "$(cat "$folder/$name.installed" 2>/dev/null)" != "$tool" ]; then
        rm -rf "${folder:?}/$name"
        "bring_$name"
        echo "$tool" >"$folder/$name.installed"
    fi
    if [ -f "$folder/$name.wasm" ] && [ "$(cat "$folder/$name.digest" 2>/dev/null)" = "$(digest "$name")" ]; then
        echo "guest-languages: $name.wasm is there"
        return
    fi
    # Python leaves compiled code beside its sources.
    rm -rf "$work"
    mkdir -p "$work/wit/deps/airlock"
    cp tests/languages/"$name"/reckoner.* "$work"
    cp tests/languages/tool.wit "$work/wit"
    cp wit/plugin.wit "$work/wit/deps/airlock"
    "make_$name" "$work"
    mv "$work/plugin.wasm" "$folder/$name.wasm"
    digest "$name" >"$folder/$name.digest"
}

[ $# -gt 0 ] || set -- python quickjs
for name in "$@"; do
    case $name in
        python) language python "$python_tool" ;;
        quickjs) language quickjs "$quickjs_tool" ;;
        *)
            echo "guest-languages: it knows python and quickjs, and not: $name" >&2
            exit 2
            ;;
    esac
done
