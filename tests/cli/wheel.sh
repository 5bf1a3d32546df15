# make wheel: what is in it, and its tests on the stub driver, without this tree: unpacked, and with
# neither GEMMTUNE_DATA nor a library of the loader's.
case $BUILD in */build) ;; *) skip "a sanitizer build's library needs the sanitizers in the program" ;; esac
command -v python3 >/dev/null || skip "Python is not installed"
need_stub
wheel=$("$ROOT/tools/wheel" "$BUILD" 9.9) || exit
name=${wheel##*/}
echo "${name/$(uname -m)/MACHINE}" | sed 's/manylinux_2_[0-9]*_/manylinux_2_NN_/'
(($(stat -c %s "$wheel") < 20000000)) && echo "less than 20 MB"
cp "$wheel" again.whl
"$ROOT/tools/wheel" "$BUILD" 9.9 >/dev/null
cmp "$wheel" again.whl && echo "the same bytes again"
if python3 -m pip --version >/dev/null 2>&1; then
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
        --no-compile --target site "$wheel"
else
    python3 -m zipfile -e "$wheel" site
fi
# The tag is the glibc that the libraries inside need, and the metadata says what pip shows.
newest=$(objdump -T site/gemmtune/lib/*.so* | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -n 1)
[[ $name == *-manylinux_2_${newest#GLIBC_2.}_* ]] || echo "$name, and its libraries need $newest"
grep '^Tag: ' site/gemmtune-9.9.dist-info/WHEEL | grep -cF "${newest#GLIBC_2.}"
sed '/^$/q' site/gemmtune-9.9.dist-info/METADATA | grep -E '^(Version|Summary|Author|License|Requires-Python|Home-page|Requires-Dist):'
sed '1,/^$/d' site/gemmtune-9.9.dist-info/METADATA | cmp - "$ROOT/src/PYTHON.md"
"$ROOT/tools/wheel" "$BUILD" 9.9 https://example.org/gemmtune >/dev/null
unzipped=$(python3 -c 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read("gemmtune-9.9.dist-info/METADATA").decode())' "$wheel")
grep -E 'example.org' <<<"$unzipped"
ls "$BUILD"/gemmtune-9.9-*.whl | wc -l
rm "$wheel"
find site -name '*.so.*' -newermt 1970-01-01 | sed 's/\.so.*//; s|.*/||' | sort
(cd site && ls -d gemmtune/*.py gemmtune/py.typed gemmtune/share/gemmtune/*)
t export --format deploy --db "$ROOT/db/shipped" --problem 64x64x64 --problem 64x64x64:f64 -o one.gt -q --arch sm_90
export GEMMTUNE_HEADER=$ROOT/src GEMMTUNE_DB=
unset GEMMTUNE_DATA
export PYTHONPATH=$PWD/site:$ROOT/tests/python PYTHONDONTWRITEBYTECODE=1
STUB_SMS=132 GEMMTUNE_DEPLOYED=$PWD/one.gt python3 "$ROOT/tests/python/test_package.py" >said 2>&1 || cat said
grep -cE '\.\.\. ok$' said
# PyTorch's small products, with something that stands in for it, whether it is installed or not.
PYTHONPATH=$PYTHONPATH:$ROOT/tests/python/standin python3 "$ROOT/tests/python/test_eager.py" >said 2>&1 || cat said
grep -cE '\.\.\. ok$' said
# Gradients, with PyTorch itself where it is installed.
python3 "$ROOT/tests/python/test_gradients.py" >said 2>&1 || cat said
tail -n 1 said | grep -o '^OK'
python3 "$ROOT/tests/python/test_torch.py" 2>&1 | grep -oE "skipped .*" | sort -u | grep -c PyTorch
# Its type hints, where mypy is installed.
if python3 -m mypy --version >/dev/null 2>&1; then
    python3 -m mypy --ignore-missing-imports --cache-dir=/dev/null site/gemmtune | grep -v '^Success'
fi
echo "-- as a program finds it"
python3 -c 'import gemmtune; print(gemmtune.lookup("4096x4096x4096:bf16:nt", "sm_90", "NVIDIA H200").tier < gemmtune.Tier.NONE)'
GEMMTUNE_LIBRARY=/nonexistent python3 -c 'import gemmtune' 2>&1 | tail -n 1
