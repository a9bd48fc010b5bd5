# Which Pythons this machine has, for .ci/run: pyenv's, and those on the PATH.

python_of() { # python_of 3.12: prints its newest release here that runs; 1 where there is none
  local folder found
  while read -r found; do
    runs_as "$1" "$found" && { echo "$found"; return; }
  done < <(
    for folder in "$(pyenv root 2>/dev/null || true)" "$HOME/.pyenv"; do
      ls -d "${folder:-/nowhere}/versions/$1".*/bin/python 2>/dev/null
    done | grep -E "/$1\.[0-9]+/bin/python$" | sort -rV # no previews, nor builds without the GIL
    command -v "python$1" python3
  )
  return 1
}

runs_as() { # a shim of pyenv is there also for a Python that it will not start
  [ "$("$2" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]
}

newest_python() { # prints the newest one of all
  local minor
  for minor in $(seq 25 -1 10); do
    python_of "3.$minor" && return
  done
  return 1
}
