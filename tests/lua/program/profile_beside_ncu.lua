-- The script that sets our counters beside those of ncu: what it reads of an ncu that is played here.
local shell = dofile "tests/support/shell.lua"
local path = shell.file [[
#!/bin/sh
metrics=
while [ $# -gt 0 ]; do
  case $1 in
    --metrics) metrics=$2; shift ;;
    *cuttle) break ;;
  esac
  shift
done
CUTTLE_DEVICE=cpu "$@" || echo failed
echo '==PROF== Profiling "saxpy"'
echo '"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"'
for id in 0 1; do
  for metric in $(echo "$metrics" | tr , ' '); do
    case $metric in
      *global_op_ld.sum) value='"16,384"' ;;
      *) value='"0"' ;;
    esac
    echo "\"$id\",\"saxpy(float, float const *)\",\"(128, 1, 1)\",\"$metric\",\"\",$value"
  done
done
]]
local text = shell.run("chmod +x %s; NCU=%s CUTTLE_DEVICE=cpu '%s' "
  .. "scripts/profile_beside_ncu.lua saxpy", path, path, arg[-1])
os.remove(path)
print(text:match "saxpy saxpy: (%d+) launches, ncu (%d+)") -- expect: 2	2
print(text:match "global ld requests +(%d+) +(%d+)") -- expect: 32768	32768
print(text:match "(%d+) of (%d+) counters are equal") -- expect: 1	4
